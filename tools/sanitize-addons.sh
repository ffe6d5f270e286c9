#!/bin/sh
# Builds both addons with AddressSanitizer and UBSan into a folder, and runs the children of
# test/hostile/addons.test.ts on them: tools/sanitize-addons.sh FOLDER [SEED]. Needs set-up and the
# headers of llama.cpp, which it takes from the bundle that set-up fetched. Not part of npm test.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
seed=${2:-7}
mkdir -p "$out"
bundle=$(ls "$HOME"/.cache/precedent/packages/node-llama-cpp-*/gitRelease.bundle | tail -1)
[ -d "$out/llama.git" ] || git clone --quiet --bare "$bundle" "$out/llama.git"
git --git-dir="$out/llama.git" archive HEAD include ggml/include | tar -x -C "$out"
node=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")/include/node
backends=$(cd "$root/node_modules/@node-llama-cpp/linux-$(node -p process.arch)/bins/"* && pwd)
# No vptr: node is built without the type information that it reads.
flags="-std=c++17 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -fPIC -shared
  -pthread -DNAPI_VERSION=8 -DNODE_ADDON_API_CPP_EXCEPTIONS_ALL -DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
  -DNODE_ADDON_API_DISABLE_DEPRECATED -I$node -I$root/node_modules/node-addon-api"

# A file a compiler, two at a time.
compile() {
  name=$1
  shift
  mkdir -p "$out/$name"
  for file in "$@"; do echo "$file"; done |
    xargs -P 2 -I{} sh -c "g++ $(echo $flags) $more -c {} -o $out/$name/\$(echo {} | tr / _).o"
}
more="-I$out/include -I$out/ggml/include"
compile llama "$root"/native/llama/core/*.cpp "$root"/native/llama/addon/*.cpp
g++ $flags "$out"/llama/*.o -o "$out/precedent-llama.node" -L"$backends" \
  $(cd "$backends" && ls libllama.v*.so libggml.v*.so | sed 's/^/-l:/') -lggml-base "-Wl,-rpath,$backends"
more=-fopenmp
compile faiss "$root"/native/faiss/*.cpp
g++ $flags "$out"/faiss/*.o -o "$out/precedent-faiss.node" -l:libfaiss.a -lopenblas -fopenmp

# Leaks are not looked for: node and V8 leave theirs to the end of the process.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
"$root/native/build/llama/llama-check" generate tiny "$out/tiny.gguf"
child() {
  echo "$1"
  LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    node --import tsx "$root/test/hostile/addons/$@"
  echo
}
cd "$root"
child faiss-calls.ts "$out/precedent-faiss.node" "$out" "$seed" 10000
child llama-calls.ts "$out/precedent-llama.node" "$out/tiny.gguf" "$backends" "$seed" 10000
child gguf-files.ts "$out/precedent-llama.node" "$out/tiny.gguf" "$backends" "$out" "$seed" 300
child endings.mjs "$out/precedent-llama.node" "$out/precedent-faiss.node" "$out/tiny.gguf" "$backends" "$out" || [ $? -eq 7 ]
