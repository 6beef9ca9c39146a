# Completion for bash, with the verbs and options in the program's help.
_cobblestone() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verbs=() part help
  for part in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $part == -* ]] && break
    [ "${#verbs[@]}" -lt 2 ] && verbs+=("$part")
  done
  help=$("${COMP_WORDS[0]}" "${verbs[@]}" --help 2>/dev/null) || help=$("${COMP_WORDS[0]}" "${verbs[@]:0:1}" --help 2>/dev/null)
  case $before in
    --config | --data | --out | --spec | --events | --state-out | --svg) ;;
    *)
      if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(grep -oE -- '--[a-z][a-z0-9-]*' <<<"$help" | sort -u)" -- "$word")
        return
      fi
      mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<<"$help")" -- "$word")
      [ "${#COMPREPLY[@]}" -gt 0 ] && return
      ;;
  esac
  compopt -o default 2>/dev/null
  COMPREPLY=()
}
complete -F _cobblestone cobblestone
