{
  # faiss-node's own source against the system's libfaiss (its prebuilt binary is not fetched). Built by scripts/build-native.ts.
  "targets": [
    {
      "target_name": "faiss-node",
      "sources": ["faiss.cpp"],
      "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")", "<(module_root_dir)/../../../node_modules/faiss-node/src"],
      "defines": ["NAPI_VERSION=8", "NODE_ADDON_API_CPP_EXCEPTIONS"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti"],
      "cflags_cc": ["-std=c++17", "-fexceptions", "-frtti", "-O3", "-fopenmp"],
      "libraries": ["-l:libfaiss.a", "-lopenblas", "-fopenmp"]
    }
  ]
}
