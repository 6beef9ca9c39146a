# cmake -DSOURCE=tree -DOUT=commit.cc -P commit.cmake: writes a C++ source with the commit of the tree, followed by + if files
# differ from the commit. The commit is "unknown" if the tree is not a clone or git is missing. An unchanged file is not rewritten.
set(commit "unknown")
find_program(GIT_PROGRAM git)
if(GIT_PROGRAM)
  execute_process(COMMAND "${GIT_PROGRAM}" -C "${SOURCE}" describe --always --abbrev=12 --dirty=+ --exclude=*
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()
set(text "#include \"services/cli/version.h\"\n\nnamespace cobblestone::cli {\nconst char* const kCommit = \"${commit}\";\n}  // namespace cobblestone::cli\n")
if(EXISTS "${OUT}")
  file(READ "${OUT}" before)
endif()
if(NOT text STREQUAL "${before}")
  file(WRITE "${OUT}" "${text}")
endif()
