#!/bin/sh
# usage: tokenize_command.sh TILEWRIGHT MODEL GOLDEN_FOLDER — the command line of `tokenize`, from outside.
set -eu
tool=$1 model=$2 golden=$3
fail() { echo "FAIL: $1"; exit 1; }
text='To be, or not to be — Việt 😀'
ids=$(printf '%s' "$text" | "$tool" tokenize "$model")
[ "$(printf '%s\n' "$ids" | "$tool" tokenize "$model" - --decode)" = "$text" ] || fail "round trip"
[ "$(printf '%s' "$text" | MODEL_PATH=$model "$tool" tokenize)" = "$ids" ] || fail "MODEL_PATH"
[ "$(printf 'a\nb\n\nc' | "$tool" tokenize "$model" --lines | wc -l)" = 4 ] || fail "a line of ids per text"
printf '%s' "$text" | "$tool" tokenize "$model" --format json | grep -q '"begin":0' || fail "pieces"
[ "$(printf 'hi' | "$tool" tokenize "$golden/gemma.json" | cut -d' ' -f1)" = "$(printf '<s>' | "$tool" tokenize "$golden/gemma.json" --no-special-tokens)" ] || fail "BOS"
for bad in '5 6\n7 x8 9' '5\n7 99999999999 9' '1\n2 -3'; do
  printf "$bad" | "$tool" tokenize "$model" - --decode > /dev/null 2> message && fail "bad id accepted"
  grep -q 'line 2, column 3' message || fail "place of the bad id: $(cat message)"
done
rm -f message
code=0; "$tool" tokenize "$model" --format xml < /dev/null > /dev/null 2>&1 || code=$?
[ $code = 2 ] || fail "wrong usage exits $code"
code=0; "$tool" tokenize /nonexistent < /dev/null > /dev/null 2>&1 || code=$?
[ $code = 1 ] || fail "a missing model exits $code"
echo ok
