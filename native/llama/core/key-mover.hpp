// Moves rows of cached keys to other positions, whatever type they are stored in.
#pragma once

#include <cstdint>
#include <vector>

#include "ggml.h"
#include "rope.hpp"

namespace precedent {

class KeyMover {
public:
  // f32, f16 or q8_0. llama.cpp stores quantised keys behind a Hadamard transform of each head (src/llama-kv-cache.cpp:
  // attn_rot_k), which is its own inverse: it is undone before the rotation and done again after it.
  KeyMover(ggml_type type, int heads, int headDimension);

  // `rows` rows; from and to don't overlap.
  void move(const Rotation & rotation, const uint8_t * from, uint8_t * to, int rows);
  // One row as floats, the Hadamard transform undone.
  void decode(const uint8_t * row, float * to) const;
  // The other way; destroys `row`.
  void encode(float * row, uint8_t * to) const;
  size_t rowBytes() const { return rowBytes_; }
  int width() const { return heads_ * headDimension_; }

private:
  void transform(float * row) const;

  ggml_type type_;
  int heads_, headDimension_, hadamard_;  // length of the transform, 0: none
  size_t rowBytes_;
  std::vector<float> row_;
};

}  // namespace precedent
