#!/bin/sh
# Builds llama-check on this machine, checks the equalities on tiny models and measures speed, in one command, for machines without Node:
#   run.sh OUT [cmake options]        e.g. run.sh /tmp/out -DGGML_CUDA=ON
# With a GPU backend among the options everything runs on the first GPU, or fails; speed is then that of a model of 8B's shape with random weights
# (16 GB, written to OUT/models), otherwise that of a tiny one. Results: OUT/machine.txt, OUT/equalities.txt, OUT/speed.jsonl; the status is 0 when
# all of them are there and every equality holds. May be set: LLAMA_SOURCE (a checkout of llama.cpp), BUILD, MODELS, ROUNDS, SHAPE, SPEED.
set -eu
if [ $# -eq 0 ]; then
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
build=${BUILD:-$out/build}
models=${MODELS:-$out/models}
source=${LLAMA_SOURCE:-$out/llama.cpp}
for tool in cmake git c++; do
  command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 1; }
done
# What an earlier run left must not be taken for this one's.
rm -f "$out/machine.txt" "$out/equalities.txt" "$out/speed.jsonl"
[ -n "${LLAMA_SOURCE:-}" ] || "$here/sources.sh" "$source"

generator=
[ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=-GNinja
cmake -S "$here" -B "$build" $generator -DLLAMA_SOURCE="$source" "$@"
cmake --build "$build" --target llama-check -j "$(nproc 2>/dev/null || echo 4)"
check=$build/llama-check

# Asked of cmake itself: an option may be written in many ways, and a CPU must never stand in for a GPU.
gpu=
if grep -Eiq '^GGML_(CUDA|HIP|VULKAN|SYCL|MUSA|METAL):[A-Z]+=(ON|1|TRUE|YES|Y)$' "$build/CMakeCache.txt"; then
  gpu=--gpu
  export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
fi
{
  date -u +%Y-%m-%dT%H:%M:%SZ
  uname -srm
  grep -m 1 'model name' /proc/cpuinfo 2>/dev/null || true
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv 2>/dev/null || echo "no nvidia-smi"
  cmake --version | head -n 1
  echo "precedent $(git -C "$here" describe --always --dirty 2>/dev/null || echo "outside a checkout"), llama.cpp $(git -C "$source" rev-parse --short HEAD 2>/dev/null || echo unknown)"
  echo "cmake options: $*"
  echo "device: $([ -n "$gpu" ] && echo "GPU" || echo "CPU")"
} >"$out/machine.txt"
cat "$out/machine.txt"

shape=${SHAPE:-$([ -n "$gpu" ] && echo 8b || echo tiny)}
speed=${SPEED:-$([ -n "$gpu" ] || echo --lengths 1088 --chunk 128 --flights 1,4)}
mkdir -p "$models"
if [ "$shape" = 8b ] && [ ! -e "$models/8b.gguf" ] && [ "$(df -Pk "$models" | awk 'NR == 2 { print $4 }')" -lt 17000000 ]; then
  echo "$models has no room for a model of 16 GB: set MODELS, or SHAPE=tiny" >&2
  exit 1
fi
# A pipe into tee would hide what fails.
failed=0
: >"$out/equalities.txt"
for made in tiny:f32 tiny-neox:f32 tiny-yarn:f32 tiny-factors:f32 tiny:f16; do
  model=$models/${made%:*}-${made#*:}.gguf
  "$check" generate "${made%:*}" "$model" "${made#*:}"
  echo "== $made" >>"$out/equalities.txt"
  "$check" equalities "$model" $gpu --rounds "${ROUNDS:-500}" >>"$out/equalities.txt" 2>&1 || failed=1
done
cat "$out/equalities.txt"
model=$models/$shape.gguf
if [ ! -e "$model" ]; then
  # Under its name only when it is whole.
  "$check" generate "$shape" "$model.part" f16
  mv "$model.part" "$model"
fi
"$check" speed "$model" $gpu --out "$out/speed.jsonl" $speed || failed=1
if [ $failed -ne 0 ]; then
  echo "equalities do not hold, or a device is missing: $out/equalities.txt" >&2
  exit 1
fi
echo "all hold: $out"
