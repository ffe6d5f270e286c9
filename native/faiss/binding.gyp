{
  # Our own addon over the system's libfaiss. Built by tools/setup/build-native.ts.
  "targets": [
    {
      "target_name": "precedent-faiss",
      "sources": ["kernel.cpp", "checksum.cpp", "eight-bit.cpp", "content.cpp", "index.cpp", "rebuild.cpp", "file.cpp", "addon.cpp"],
      "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")"],
      "defines": ["NAPI_VERSION=8", "NODE_ADDON_API_CPP_EXCEPTIONS_ALL", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti"],
      "cflags_cc": ["-std=c++17", "-fexceptions", "-frtti", "-O3", "-fopenmp", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"],
      "libraries": ["-l:libfaiss.a", "-lopenblas", "-fopenmp"]
    }
  ]
}
