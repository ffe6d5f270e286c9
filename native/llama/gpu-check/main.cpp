// llama-check generate SHAPE FILE [TYPE]: writes a model with random weights (generate.hpp); TYPE f32, f16 or q8_0.
#include <cstdio>
#include <cstring>
#include <string>

#include "../core/failure.hpp"
#include "generate.hpp"

using namespace precedent;

namespace {

int usage() {
  std::fprintf(stderr, "usage: llama-check generate SHAPE FILE [TYPE]\n");
  return 2;
}

int typeOf(const std::string& name) {
  if (name == "f16") return 1;
  if (name == "q8_0") return 8;
  if (name != "f32") fail("invalid_argument", "there is no type " + name);
  return 0;
}

}  // namespace

int main(int count, char** given) {
  try {
    if (count >= 4 && std::strcmp(given[1], "generate") == 0) {
      Shape shape = namedShape(given[2]);
      if (count > 4) shape.type = typeOf(given[4]);
      generateModel(shape, given[3]);
      return 0;
    }
    return usage();
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.code.c_str(), failure.what());
    return 1;
  }
}
