#!/bin/sh
# Serves the package, feeds the pictures and asks for the three most like each of queries.jsonl, a line of JSON for each.
# STEAD names the command, PORT the port of the server.
set -eu
cd "$(dirname "$0")"
stead=${STEAD:-stead} port=${PORT:-8080} out=$(mktemp -d)
mkfifo "$out/log"
"$stead" serve app --rest_port "$port" 2> "$out/log" &
server=$!
trap 'kill $server; rm -r "$out"' EXIT
exec 3< "$out/log"
while read -r line <&3; do
  case $line in *"HTTP on"*) break ;; esac
done
cat <&3 > /dev/null &
"$stead" feed --target "http://127.0.0.1:$port" pictures.jsonl
while read -r query; do
  printf '%s' "$query" | curl -s -H 'Content-Type: application/json' -d @- "http://127.0.0.1:$port/search/"
  echo
done < queries.jsonl
