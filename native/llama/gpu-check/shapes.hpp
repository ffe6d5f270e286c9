// What a GGUF file of a shape holds: its parameters and tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generate.hpp"
#include "ggml.h"
#include "gguf.h"

namespace precedent {

struct Tensor {
  std::string name;
  int64_t columns, rows;
  ggml_type type;
  float scale;   // of the random values
  float offset;  // added to them
};

void addParameters(gguf_context * gguf, const Shape & shape);
std::vector<Tensor> tensorsOf(const Shape & shape);

}  // namespace precedent
