#!/usr/bin/env bash
# Tries kafka-local with real brokers: what its help promises holds. Takes about a minute.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
libs=$here/../../build/kafka/libs
work=$(mktemp -d)
deadline_s=60 # for anything to come true

kafka_local() { "$here/kafka-local" "$@" 2>>"$work/said"; }

clean_up() {
  local status=$? dir
  exec 7>&-
  for dir in "$work"/*/; do
    [ ! -e "$dir/cluster" ] || kafka_local stop --dir "$dir" || true
  done
  if [ $status != 0 ]; then echo "What kafka-local and kcat said at last:" && tail -n 40 "$work/said"; fi
  rm -rf "$work"
}
trap clean_up EXIT

story() { printf '%5s s  %s\n' "$SECONDS" "$*"; }
fail() { printf 'FAILED: %s\n' "$*" && exit 1; }
expect_equal() { [ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"; }

# eventually WHAT COMMAND...: polls until the command succeeds.
eventually() {
  local what=$1 until=$((SECONDS + deadline_s))
  shift
  until "$@"; do
    [ $SECONDS -lt $until ] || fail "not within $deadline_s s: $what"
    sleep 0.1
  done
}

# kcat_command DIR ARGUMENTS...: sets `command` to kcat, told what `kafka-local env` tells; later -X arguments win.
kcat_command() {
  local BOOTSTRAP='' SECURITY='' CA_FILE='' MECHANISM='' USER='' PASSWORD_FILE=''
  eval "$("$here/kafka-local" env --dir "$1" | sed 's/^COBBLESTONE_KAFKA_//')"
  command=(timeout --kill-after 1 "$deadline_s" kcat -b "$BOOTSTRAP" -X "security.protocol=$SECURITY")
  if [ -n "$CA_FILE" ]; then command+=(-X "ssl.ca.location=$CA_FILE"); fi
  if [ -n "$USER" ]; then
    command+=(-X "sasl.mechanism=$MECHANISM" -X "sasl.username=$USER" -X "sasl.password=$(cat "$PASSWORD_FILE")")
  fi
  command+=("${@:2}")
}

client() {
  local command
  kcat_command "$@"
  "${command[@]}" 2>>"$work/said"
}

java_tool() { timeout $deadline_s java -XX:TieredStopAtLevel=1 -cp "$libs/*" "org.apache.kafka.tools.$1" "${@:2}"; }

# The brokers' own listener, which the Java tools use here, asks for no password.
broker_listener() { sed -n 's/^advertised\.listeners=.*BROKER:\/\///p' "$1/broker-1/server.properties"; }

make_topic() {
  java_tool TopicCommand --bootstrap-server "$(broker_listener "$1")" --create --topic "$2" --partitions 1 >/dev/null ||
    fail "the topic $2 could not be made in $1"
}

send() { printf '%s\n' "${@:3}" | client "$1" -P -t "$2" -X acks=all -X message.timeout.ms=50000; }
holds() { [ "$(client "$1" -C -t "$2" -o beginning -e -q | tr '\n' ' ')" = "$3" ]; }
expect_holds() { eventually "the topic $2 of $1 holds '$3'" holds "$@"; }

# Processes that name the folder, other than this script's.
processes_of() { grep -lsF "$1/broker-" /proc/[0-9]*/cmdline || true; }
listens() { (exec 3<>"/dev/tcp/${1%:*}/${1#*:}") 2>/dev/null; }

# ---- two clusters at once, one open, one with TLS and a password ------------------------------------------------------

plain=$work/plain secure=$work/secure
exec 7>"$work/held"
kafka_local start --dir "$secure" --tls --sasl >"$work/secure.address" 7>&- &
secure_start=$!
# The command substitution ends only when nobody holds the pipe any more.
address=$(kafka_local start --dir "$plain" --proxy 127.0.0.1:9 | tail -n 1)
wait $secure_start || fail "the cluster with TLS and SASL did not start"
story "two clusters start side by side: $address $(cat "$work/secure.address")"
[ "$address" != "$(cat "$work/secure.address")" ] || fail "two clusters have one address"

pid=$(cat "$plain/broker-1/pid")
for file in "/proc/$pid/fd"/*; do
  case $(readlink "$file") in
    "$work/held" | "$plain/lock" | "$here"/*) fail "the broker holds a file of its caller: $(readlink "$file")" ;;
  esac
done
expect_equal "session of the broker" "$(cut -d ' ' -f 6 "/proc/$pid/stat")" "$pid"
story "a broker holds none of its caller's files and has a session of its own"

make_topic "$plain" stones
send "$plain" stones one two
expect_holds "$plain" stones 'one two '
story "what is sent is received"

where_by() { client "$plain" -L -b "127.0.0.1:$1" | sed -n 's/^ *broker 1 at \([^ ]*\).*/\1/p'; }
expect_equal "address for those who come directly" "$(where_by "${address#*:}")" "$address"
expect_equal "address for those who come by a proxy" "$(where_by $((${address#*:} + 3)))" 127.0.0.1:9
! kafka_local start --dir "$plain" --proxy 127.0.0.1:10 || fail "a start with another proxy than the folder has must fail"
story "whoever comes by a proxy is led back to it"

expect_equal "address of a second start" "$(kafka_local start --dir "$plain")" "$address"
expect_equal "process after a second start" "$(cat "$plain/broker-1/pid")" "$pid"
grep -qF "the cluster in $plain already runs" "$work/said" ||
  fail "a second start did not report that the cluster already runs"
! kafka_local start --dir "$plain" --brokers 3 || fail "a start with other brokers than the folder has must fail"
! kafka_local start --dir "$work" 2>/dev/null || fail "a start in a folder of other things must fail"
kafka_local status --dir "$plain" >"$work/status" || fail "status says that not all brokers run"
grep -q "^broker 1  runs  *$address  pid $pid$" "$work/status" || fail "status says: $(cat "$work/status")"
story "a second start changes nothing and gives the same address; status tells it"

kafka_local kill 1 --dir "$plain"
! listens "$address" || fail "a killed broker answers"
! kafka_local status --dir "$plain" >"$work/status" || fail "status is content with a killed broker"
grep -q '^broker 1  stopped' "$work/status" || fail "status says: $(cat "$work/status")"
! kafka_local kill 1 --dir "$plain" || fail "a broker was killed twice"
! kafka_local kill 2 --dir "$plain" || fail "a broker that does not exist was killed"
kafka_local restart 1 --dir "$plain"
send "$plain" stones three
expect_holds "$plain" stones 'one two three '
story "a broker that was killed keeps its data and its address"

kafka_local stop --dir "$plain"
expect_equal "processes after the stop" "$(processes_of "$plain")" ''
! listens "$address" || fail "somebody listens on $address after the stop"
kafka_local stop --dir "$plain"
expect_equal "address after a stop" "$(kafka_local start --dir "$plain")" "$address"
expect_holds "$plain" stones 'one two three '
kafka_local stop --dir "$plain"
story "stop leaves no process and no port; the next start has the same data and address"

# ---- TLS and SASL ------------------------------------------------------------------------------------------------------

make_topic "$secure" stones
send "$secure" stones one two
expect_holds "$secure" stones 'one two '
client "$secure" -L -b "localhost:$(cut -d: -f2 "$work/secure.address")" >/dev/null || fail "localhost is refused"
expect_equal "mode of the password file" "$(stat -c %a "$secure/password")" 600
expect_equal "mode of the broker's key" "$(stat -c %a "$secure/tls/broker.pem")" 600
expect_equal "files for all to read with the password" \
  "$(grep -rlF -- "$(cat "$secure/password")" "$secure" | xargs stat -c '%a %n' | grep -v '^600 ' || true)" ''
story "with TLS and SASL what is sent is received, by the address and by the name of the host"

# refused WHAT PATTERN ARGUMENTS...: kcat is not let in, and says why. It would go on trying, and not end when asked to.
refused() {
  local kcat command
  kcat_command "$secure" -L -m $deadline_s "${@:3}"
  : >"$work/refused"
  "${command[@]}" >"$work/refused" 2>&1 &
  kcat=$!
  eventually "$1 is refused with '$2'" grep -q "$2" "$work/refused"
  kill $kcat 2>/dev/null || true
  wait $kcat 2>/dev/null || true
  ! grep -q '^Metadata' "$work/refused" || fail "$1 was let in"
}
refused 'a wrong password' 'uthentication failed' -X sasl.password=wrong
refused 'an unknown user' 'uthentication failed' -X sasl.username=nobody
refused 'a broker of an unknown authority' 'certificate verify failed' -X ssl.ca.location=/etc/ssl/certs/ca-certificates.crt
story "a wrong password, an unknown user and an unknown authority are refused"

# The librdkafka of Debian 12 cannot do SCRAM with this Kafka; Java can.
scram() {
  printf '%s\n' security.protocol=SASL_SSL sasl.mechanism=SCRAM-SHA-512 ssl.truststore.type=PEM \
    "ssl.truststore.location=$secure/tls/ca.pem" "sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required username=\"cobblestone\" password=\"$1\";" >"$work/scram"
  java_tool TopicCommand --bootstrap-server "$(cat "$work/secure.address")" --command-config "$work/scram" --list 2>&1
}
expect_equal "topics, asked for by SCRAM" "$(scram "$(cat "$secure/password")" | grep stones)" stones
! scram wrong >"$work/refused" || fail "a wrong password was let in by SCRAM"
grep -q SaslAuthenticationException "$work/refused" || fail "SCRAM failed for another reason: $(cat "$work/refused")"
story "by SCRAM the password is taken, a wrong one refused"
kafka_local stop --dir "$secure"
expect_equal "processes after the stop" "$(processes_of "$secure")" ''

# ---- three brokers -----------------------------------------------------------------------------------------------------

three=$work/three
address=$(kafka_local start --dir "$three" --brokers 3)
expect_equal "number of addresses" "$(tr ',' '\n' <<<"$address" | wc -l)" 3
make_topic "$three" stones
send "$three" stones one
story "three brokers start: $address"
for n in 1 2 3; do
  kafka_local kill $n --dir "$three"
  send "$three" stones "without-$n"
  kafka_local restart $n --dir "$three"
done
expect_holds "$three" stones 'one without-1 without-2 without-3 '
story "each of three may be killed and comes back; meanwhile the others take what all must confirm"

kafka_local kill 2 --dir "$three"
java_tool ProducerPerformance --bootstrap-server "$(broker_listener "$three")" --topic stones --num-records 100 \
  --record-size 10 --throughput -1 --transactional-id stones --transaction-duration-ms 1000 >"$work/transaction" 2>&1 ||
  fail "a transaction with one of three brokers gone: $(tail -n 5 "$work/transaction")"
story "two of three commit a transaction"
kafka_local stop --dir "$three"
expect_equal "processes after the stop" "$(processes_of "$three")" ''
story "all as promised"
