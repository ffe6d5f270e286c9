{
  # What bench -- selection compares with: FAISS's own flat index as it comes, and hnswlib-node from its package's source,
  # which tools/setup/build-native.ts puts beside this file.
  "targets": [
    {
      "target_name": "flat",
      "sources": ["flat.cpp"],
      "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")"],
      "defines": ["NAPI_VERSION=8", "NODE_ADDON_API_CPP_EXCEPTIONS_ALL"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti"],
      "cflags_cc": ["-std=c++17", "-fexceptions", "-frtti", "-O3", "-fopenmp", "-Wno-unused-parameter"],
      "libraries": ["-l:libfaiss.a", "-lopenblas", "-fopenmp"]
    },
    {
      "target_name": "hnswlib",
      "sources": ["addon.cc"],
      "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")"],
      "defines": ["NAPI_DISABLE_CPP_EXCEPTIONS"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions"],
      # For this very machine, so that it computes with AVX where ours does.
      "cflags_cc": ["-O3", "-march=native", "-w"]
    }
  ]
}
