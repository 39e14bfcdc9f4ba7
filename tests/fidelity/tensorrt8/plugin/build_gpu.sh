#!/bin/sh
# Builds the library for a GPU: build_gpu.sh OUT.so [ARCH]
set -eu
here=$(dirname "$(readlink -f "$0")")
root=$(readlink -f "$here/../../../..")
nvcc=${CUDA_HOME:-/usr/local/cuda-13.0}/bin/nvcc
objects=$(mktemp -d)
flags="-DPLUGINKIT_TRT_LAYOUT=8 -I$root/pluginkit/include"
g++ -std=c++17 -O2 -fPIC -fvisibility=hidden -DCHAMELEONS_ON_GPU $flags -c "$here/chameleons.cpp" -o "$objects/plugins.o"
"$nvcc" -std=c++17 -O2 -Xcompiler -fPIC,-fvisibility=hidden "-arch=${2:-sm_90}" $flags -c "$here/launch.cu" -o "$objects/launch.o"
"$nvcc" -shared -cudart static -Xlinker --exclude-libs,ALL \
    "$objects/plugins.o" "$objects/launch.o" -o "$1" -ldl
rm -r "$objects"
