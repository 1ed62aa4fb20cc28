#!/bin/sh
# From pairs to a served ranker, and whether it is served as it was trained:
#
#     sh run.sh            with the ranker that is here
#     sh run.sh --train    with one that is trained now, by the python3 that PYTHON names (torch, numpy, onnx)
#
# STEAD names the command, PORT the port of the server, OUT the folder of what is made.
set -eu
cd "$(dirname "$0")"
stead=${STEAD:-stead} port=${PORT:-8080} out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
cp -r app "$out/"

echo "== training data"
"$stead" encode app --profile ranker pairs.jsonl --output "$out/train.npz" --validation 0.1 --seed 7
if [ "${1:-}" = --train ]; then
  echo "== training"
  "${PYTHON:-python3}" train.py "$out/train.npz" "$out/app/models/ranker.onnx" --untrained "$out/untrained.onnx"
fi

echo "== does the package give the ranker the rows that it was trained on?"
"$stead" check --quiet "$out/app"

echo "== scores of pairs that it never saw, without a server"
"$stead" encode app --profile ranker held-out.jsonl --output "$out/held-out.npz" --inputs-only
"$stead" run "$out/app/models/ranker.onnx" --input "@$out/held-out.npz" --output "$out/scores.npz"

echo "== the same from a server"
mkfifo "$out/log"
"$stead" serve "$out/app" --rest_port "$port" 2> "$out/log" &
server=$!
trap 'kill $server; rm -f "$out/log"' EXIT
exec 3< "$out/log"
while read -r line <&3; do
  case $line in *"HTTP on"*) break ;; esac
done
cat <&3 > /dev/null &
"$stead" feed --target "http://127.0.0.1:$port" passages.jsonl
curl -s "http://127.0.0.1:$port/search/" --data-urlencode 'yql=select text from passage where true' \
  --data-urlencode ranking=ranker --data-urlencode 'input.query(q)=embed(tokenizer, @text)' \
  --data-urlencode 'text=telescope with comet' --data-urlencode hits=3
echo
