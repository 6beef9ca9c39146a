#!/usr/bin/env bash
# openapi.sh PROGRAM VENV: checks the answers of a running gateway against its own description, with valid and invalid
# requests that Schemathesis generates from it. Every run sends the same requests.
set -euo pipefail
program=$1 venv=$2
directory=$(mktemp -d)
pid=
finish() {
  if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then wait "$pid" || true; fi
  rm -rf "$directory"
}
trap finish EXIT
cd "$directory"

token=operate-token-0123456789
(umask 077 && printf 'operate %s\ningest * all ingest-token-0123456789\n' "$token" >tokens)
cat >run.yaml <<'Y'
data_directory: data
partitions: 2
state: {flush_interval: 50 ms}
gateway:
  listen: 127.0.0.1:0
  tokens_file: tokens
  rate_limit: 1000000
  rate_burst: 1000000
Y
"$program" generate events.pb --results 300 --hosts 20 --seed 5 --bad-lines 0.02 --quiet
"$program" ingest events.pb --config run.yaml >/dev/null || [ $? = 1 ]  # 1: some events are refused, as intended
"$program" run --config run.yaml 2>run.log &
pid=$!
for _ in $(seq 600); do
  url=$(sed -n 's/.* gateway=\([^ ]*\).*/\1/p' run.log)
  [ -z "$url" ] || break
  kill -0 "$pid" || { cat run.log; exit 1; }
  sleep 0.1
done
[ -n "$url" ] || { echo "the gateway did not start:"; cat run.log; exit 1; }

# Requests for existing data come first, then arbitrary ones.
# The HTTP library does not know the method QUERY and answers "bad request".
cat >known.toml <<'T'
[phases.coverage]
unexpected-methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE"]

[[operations]]
include-path-regex = "^/api/v1/projects/"
parameters = { "path.project" = 1, "path.id" = 1, "path.result" = 1 }
T
: >anything.toml
# The stream is left out, because it never ends. Requests for ingest tokens are sent with an operate token and rejected as specified.
ask() {
  local config=$1 phases=$2 examples=$3
  "$venv/bin/schemathesis" --config-file "$config" run "$url/api/v1/openapi.json" \
    --exclude-path /api/v1/live --phases "$phases" --mode all \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method,ignored_auth \
    --header "Authorization: Bearer $token" \
    --max-examples "$examples" --seed 1 --generation-deterministic --no-shrink --no-color \
    --warnings off >report.txt 2>&1 || { cat report.txt; exit 1; }
  tail -n 25 report.txt
}
ask known.toml examples,coverage,fuzzing 15
ask anything.toml fuzzing 5
kill -TERM "$pid"
wait "$pid" || { cat run.log; exit 1; }
pid=
