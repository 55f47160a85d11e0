#!/usr/bin/env bash
# program.sh HUB_SERVER: serves a folder and what is made, follows rules, ends with its standard input and on SIGTERM.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/repositories/org/name/sub"
printf 'hello\n' > "$folder/repositories/org/name/sub/config.json"
printf 'weights' > "$folder/repositories/org/name/model.safetensors"
printf '[{"target": "once", "status": 503}]' > "$folder/rules.json"
mkfifo "$folder/in"

ask() { # ask ENDPOINT TARGET: the whole answer
  exec 5<> "/dev/tcp/127.0.0.1/${1##*:}"
  printf 'GET %s HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n' "$2" >&5
  timeout 20 cat <&5
  exec 5>&-
}
has() { # has TEXT PART
  [[ $1 == *"$2"* ]] || { printf 'no "%s" in:\n%s\n' "$2" "$1"; exit 1; }
}

timeout 60 "$program" "$folder/repositories" --made org/big:2x3MiB --tree org/tree:2500 --page-size 100 --cdn-for-lfs --rules "$folder/rules.json" \
  < "$folder/in" > "$folder/out" & server=$!
exec 6> "$folder/in"
for _ in $(seq 200); do [ -s "$folder/out" ] && break; sleep 0.05; done
endpoint=$(head -1 "$folder/out")
has "$(ask "$endpoint" /org/name/resolve/main/sub/config.json)" $'\r\n\r\nhello'
has "$(ask "$endpoint" /org/name/resolve/main/model.safetensors)" 'HTTP/1.1 302'
has "$(ask "$endpoint" /api/models/org/big)" 'model-00002-of-00002.safetensors'
has "$(ask "$endpoint" '/api/models/org/tree/tree/main?recursive=true')" 'cursor=100'
has "$(ask "$endpoint" /once)" 'HTTP/1.1 503'
has "$(ask "$endpoint" /once)" 'HTTP/1.1 404'
exec 6>&-
wait "$server"

"$program" --port 0 < /dev/null > "$folder/out2" & server=$!
for _ in $(seq 200); do [ -s "$folder/out2" ] && break; sleep 0.05; done
kill -TERM "$server"
wait "$server"
if "$program" --nonsense > /dev/null 2>&1; then echo "took an option that is none"; exit 1; fi
