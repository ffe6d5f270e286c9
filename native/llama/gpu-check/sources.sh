#!/bin/sh
# Puts llama.cpp as node-llama-cpp bundles it into a folder, without Node: from set-up's cache where it is there, else from the
# npm registry, at the version and with the checksum of native/llama/llama.cpp.json.
#   sources.sh FOLDER        REGISTRY: another registry; needs git, and for the registry curl, tar and openssl
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
[ -e "$1/CMakeLists.txt" ] && exit 0
mkdir -p "$1"
folder=$(cd "$1" && pwd)
pinned() { sed -n "s/.*\"$1\": \"\(.*\)\".*/\1/p" "$root/native/llama/llama.cpp.json"; }
version=$(pinned version)
wanted=$(pinned integrity)
cache=${PRECEDENT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/precedent}
bundle=$cache/packages/node-llama-cpp-$version/gitRelease.bundle
if [ ! -e "$bundle" ]; then
  package=$folder.tgz
  echo "fetching node-llama-cpp $version (35 MB)" >&2
  curl -fsSL -o "$package" "${REGISTRY:-https://registry.npmjs.org}/node-llama-cpp/-/node-llama-cpp-$version.tgz"
  found=sha512-$(openssl dgst -sha512 -binary "$package" | openssl base64 -A)
  if [ "$found" != "$wanted" ]; then
    echo "$package is not what native/llama/llama.cpp.json names: $found" >&2
    exit 1
  fi
  tar -xzf "$package" -C "$folder" package/llama/gitRelease.bundle
  bundle=$folder.bundle
  mv "$folder/package/llama/gitRelease.bundle" "$bundle"
  rm -r "$folder/package" "$package"
fi
git -c advice.detachedHead=false clone --quiet "$bundle" "$folder"
