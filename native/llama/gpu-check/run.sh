#!/bin/sh
# Builds llama-check on this machine, checks the equalities on tiny models and measures speed on a model of 8B's shape with random
# weights, in one command, for machines without Node:
#   run.sh LLAMA_SOURCE OUT [cmake options]     e.g. run.sh ../llama.cpp /tmp/out -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90
# LLAMA_SOURCE: a checkout of node_modules/node-llama-cpp/llama/gitRelease.bundle. Results: OUT/equalities.txt, OUT/speed.jsonl.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
build=${BUILD:-$out/build}
models=${MODELS:-$out/models}
gpu=
case " $* " in *GGML_CUDA=ON*) gpu=--gpu ;; esac

cmake -S "$here" -B "$build" -G Ninja -DLLAMA_SOURCE="$source" "$@"
cmake --build "$build" --target llama-check
check=$build/llama-check
mkdir -p "$models"
# A pipe into tee would hide what fails.
failed=0
: >"$out/equalities.txt"
for made in tiny:f32 tiny-neox:f32 tiny-yarn:f32 tiny-factors:f32 tiny:f16; do
  model=$models/$made.gguf
  "$check" generate "${made%:*}" "$model" "${made#*:}"
  echo "== $made" >>"$out/equalities.txt"
  "$check" equalities "$model" $gpu --rounds "${ROUNDS:-500}" >>"$out/equalities.txt" 2>&1 || failed=1
done
cat "$out/equalities.txt"
shape=${SHAPE:-8b}
[ -e "$models/$shape.gguf" ] || "$check" generate "$shape" "$models/$shape.gguf" f16
"$check" speed "$models/$shape.gguf" $gpu --out "$out/speed.jsonl" ${SPEED:-}
if [ $failed -ne 0 ]; then
  echo "equalities do not hold, or a device is missing: $out/equalities.txt" >&2
  exit 1
fi
