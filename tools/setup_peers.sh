#!/usr/bin/env bash
# Builds what bench/peers compares with into build/peers: llama.cpp's llama-bench (the source package of
# llama-cpp-python carries the whole of llama.cpp) and GGUF files with random weights. Takes some 8 minutes on 2 cores.
# Uses the python3 on the path, or $PYTHON; it needs pip, and the package gguf for the model files. Torch is a peer
# where that python has the packages torch and transformers. With AVX2=1 in the environment, a second llama-bench is built
# that is held to AVX2.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
version=0.3.36
peers=$PWD/build/peers
jobs=${JOBS:-$(nproc)}

command -v "$python" > /dev/null || { echo "setup_peers: no python3: apt-get install python3 python3-pip python3-venv" >&2; exit 1; }
for tool in cmake ninja g++; do
  command -v $tool > /dev/null || { echo "setup_peers: no $tool: apt-get install cmake ninja-build g++" >&2; exit 1; }
done
mkdir -p "$peers/source"

# build NAME FOLDER FLAGS: build/peers/NAME, and NAME.flags with how it was built
build() {
  local name=$1 folder=$peers/$2
  shift 2
  if [ ! -x "$peers/$name" ]; then
    echo "building $name (log: build/peers/build.log)"
    {
      # CMAKE_BUILD_TYPE and GGML_NATIVE are what its own README tells users; static, so that the program stands alone.
      cmake -G Ninja -S "$peers/source/llama_cpp_python-$version/vendor/llama.cpp" -B "$folder" \
        -DCMAKE_BUILD_TYPE=Release -DGGML_OPENMP=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF \
        -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
        -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_TOOLS=ON "$@"
      cmake --build "$folder" --target llama-bench -j "$jobs"
    } > "$peers/build.log" 2>&1 || { tail -20 "$peers/build.log" >&2; echo "setup_peers: llama.cpp did not build" >&2; exit 1; }
    cp "$folder/bin/llama-bench" "$peers/$name.new"
    {
      echo "llama.cpp of llama-cpp-python $version"
      grep -E '^(CMAKE_BUILD_TYPE|CMAKE_CXX_FLAGS_RELEASE|GGML_NATIVE|GGML_OPENMP|GGML_BLAS|GGML_LLAMAFILE|GGML_CPU_REPACK):' "$folder/CMakeCache.txt" | sed 's/:[A-Z]*=/=/'
      # the flags of the processor's kernels, as ninja passes them
      awk '/build .*ggml-cpu.dir.*vec.cpp.o:/ {found = 1} found && /FLAGS = / {sub(/^ *FLAGS = /, "kernel flags="); print; exit}' "$folder/build.ninja"
      g++ --version | head -1
    } > "$peers/$name.flags"
    mv "$peers/$name.new" "$peers/$name"
  fi
  cat "$peers/$name.flags"
}

if [ ! -x "$peers/llama-bench" ] || { [ -n "${AVX2:-}" ] && [ ! -x "$peers/llama-bench-avx2" ]; }; then
  "$python" -m pip --version > /dev/null 2>&1 || { echo "setup_peers: $python has no pip: apt-get install python3-pip python3-venv" >&2; exit 1; }
  if [ ! -f "$peers/source/llama_cpp_python-$version.tar.gz" ]; then
    echo "fetching the source package llama-cpp-python $version"
    "$python" -m pip download --quiet --no-deps --no-binary llama-cpp-python --dest "$peers/source" "llama-cpp-python==$version"
  fi
  tar -xzf "$peers/source/llama_cpp_python-$version.tar.gz" -C "$peers/source"
fi
build llama-bench llama.cpp -DGGML_NATIVE=ON
# What a processor without AVX-512 would run, for TILEWRIGHT_ISA=avx2 on one that has it.
[ -z "${AVX2:-}" ] || build llama-bench-avx2 llama.cpp-avx2 -DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON \
  -DGGML_F16C=ON -DGGML_BMI2=ON

if "$python" -c 'import gguf, numpy' 2> /dev/null; then
  for shape in Qwen3-0.6B Qwen3-1.7B; do
    [ -f "$peers/$shape-bf16.gguf" ] || "$python" tools/make_peer_gguf.py --shape $shape --output "$peers/$shape-bf16.gguf"
  done
else
  echo "no model files: $python has no package gguf (python3 -m venv .venv; .venv/bin/pip install gguf; PYTHON=.venv/bin/python $0)"
fi
"$python" -c 'import torch, transformers; print("torch", torch.__version__, "transformers", transformers.__version__)' 2> /dev/null ||
  echo "no torch peer: $python has no packages torch and transformers"
