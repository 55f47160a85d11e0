#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, if one is missing. Names them if it may not. With the word
# "browser": the one that pages are tested in; without it those tests are shown as not run.
set -euo pipefail
packages=(
  g++ cmake ninja-build make git pkg-config
  nlohmann-json3-dev libsimdjson-dev libcli11-dev libfmt-dev libpcre2-dev libutf8proc-dev libcurl4-openssl-dev libssl-dev libgtest-dev libbenchmark-dev
  clang-14 libclang-rt-14-dev clang-format-14 llvm-19-dev
)
[ "${1:-}" = browser ] && packages=(chromium)
missing=()
for p in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null)" = "install ok installed" ] || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
  echo "These Debian packages are missing. Install them as root, then run the command again:" >&2
  echo "  apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
  tail -20 "$log" >&2
  echo "apt-get failed; the line was: apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
