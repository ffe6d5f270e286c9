{
  # The npm package faiss-node against the system's libfaiss: its source, which tools/setup/build-native.ts puts beside this file, with
  # one-thread.cpp and before.hpp. Its own install script downloads a binary, or clones FAISS and compiles that.
  "targets": [
    {
      "target_name": "faiss-node",
      "sources": ["faiss.cc", "one-thread.cpp"],
      "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")"],
      "defines": ["NAPI_VERSION=8", "NODE_ADDON_API_CPP_EXCEPTIONS_ALL"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti"],
      "cflags_cc": ["-std=c++17", "-fexceptions", "-frtti", "-O2", "-fopenmp", "-w", "-include", "../before.hpp"],
      "libraries": ["-l:libfaiss.a", "-lopenblas", "-fopenmp"]
    }
  ]
}
