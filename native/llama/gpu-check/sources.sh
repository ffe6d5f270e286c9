#!/bin/sh
# Puts llama.cpp as node-llama-cpp bundles it into a folder, without Node: from node_modules where that is there, else from the npm registry, at the
# version and with the checksum of package-lock.json.
#   sources.sh FOLDER        REGISTRY: another registry; needs git, and for the registry curl, tar and openssl
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
[ -e "$1/CMakeLists.txt" ] && exit 0
mkdir -p "$1"
folder=$(cd "$1" && pwd)
bundle=$root/node_modules/node-llama-cpp/llama/gitRelease.bundle
if [ ! -e "$bundle" ]; then
  locked() { sed -n "/\"node_modules\/node-llama-cpp\": {/,/}/s/.*\"$1\": \"\(.*\)\".*/\1/p" "$root/package-lock.json" | head -n 1; }
  version=$(locked version)
  wanted=$(locked integrity)
  if [ -z "$version" ] || [ -z "$wanted" ]; then
    echo "package-lock.json names no node-llama-cpp" >&2
    exit 1
  fi
  package=$folder.tgz
  echo "fetching node-llama-cpp $version (35 MB)" >&2
  curl -fsSL -o "$package" "${REGISTRY:-https://registry.npmjs.org}/node-llama-cpp/-/node-llama-cpp-$version.tgz"
  found=sha512-$(openssl dgst -sha512 -binary "$package" | openssl base64 -A)
  if [ "$found" != "$wanted" ]; then
    echo "$package is not what package-lock.json names: $found" >&2
    exit 1
  fi
  tar -xzf "$package" -C "$folder" package/llama/gitRelease.bundle
  bundle=$folder.bundle
  mv "$folder/package/llama/gitRelease.bundle" "$bundle"
  rm -r "$folder/package" "$package"
fi
git -c advice.detachedHead=false clone --quiet "$bundle" "$folder"
