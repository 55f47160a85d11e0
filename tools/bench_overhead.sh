#!/usr/bin/env bash
# What `tilewright bench` adds to a decode loop: callgrind's instructions per token of its timed rounds beside those of
# bench/decode_loop, which runs the same loop and nothing else. Loading, gates, limits, warm-ups and latencies cancel:
# per token = ((long, more rounds) - (long, fewer rounds)) - ((short, more rounds) - (short, fewer rounds)), divided by
# the tokens in between (latencies are watched in at most three iterations, therefore more than three). One thread, so
# that nobody spins. Exit 1 if some arm takes more than 1 % more.
# Needs valgrind (apt-get install valgrind) and a build of tilewright and bench_decode_loop.
#     tools/bench_overhead.sh [BUILD_DIRECTORY] [ARM …]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
shift || true
arms=("$@")
[ ${#arms[@]} -gt 0 ] || arms=(eager graph fused fused+graph)
model=assets/bard short=8 long=16 fewer=3 more=5

command -v valgrind > /dev/null || { echo "bench_overhead: no valgrind: apt-get install valgrind" >&2; exit 2; }
for program in "$build/tilewright" "$build/bench/decode_loop"; do
  [ -x "$program" ] || { echo "bench_overhead: no $program: cmake --build $build --target tilewright bench_decode_loop" >&2; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# instructions COMMAND…
instructions() {
  XDG_CACHE_HOME=$work/cache valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$work/log" "$@" > "$work/out" 2>&1 ||
    { cat "$work/out" "$work/log" >&2; echo "bench_overhead: failed: $*" >&2; exit 2; }
  awk '/Collected/ {print $NF}' "$work/log"
}
bench() {
  instructions "$build/tilewright" bench "$model" --regime decode --prompt-len 8 --gen "$2" --arms "$1" --warmup 1 --iters "$3" \
    --threads 1 --skip smoke,limits --quiet --report-file "$work/report.json"
}
loop() { instructions "$build/bench/decode_loop" "$model" --arm "$1" --prompt 8 --gen "$2" --runs "$3" --threads 1; }
# per_token KIND ARM
per_token() {
  local a b c d
  a=$($1 "$2" $long $more) b=$($1 "$2" $long $fewer) c=$($1 "$2" $short $more) d=$($1 "$2" $short $fewer)
  echo $(((a - b - c + d) / ((more - fewer) * (long - short))))
}

status=0
printf '%-12s %16s %16s %9s\n' arm "loop, instr/tok" "bench, instr/tok" overhead
for arm in "${arms[@]}"; do
  plain=$(per_token loop "$arm")
  measured=$(per_token bench "$arm")
  awk -v arm="$arm" -v p="$plain" -v m="$measured" 'BEGIN {
    o = 100 * (m / p - 1); printf "%-12s %16d %16d %8.2f%%  %s\n", arm, p, m, o, o <= 1 ? "met (1 %)" : "NOT MET (1 %)"; exit o > 1 }' || status=1
done
exit $status
