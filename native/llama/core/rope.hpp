// Rotary position embedding, as far as moving a cached key needs it: a key at position p was rotated by p times a frequency for each
// pair of its dimensions, so moving it by d positions rotates it by d times the same frequency. Magnitudes (YaRN's attention factor)
// are in the key already and stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace precedent {

class GgufFile;

struct Rope {
  bool neox = false;         // pairs (i, i + dimensions / 2) instead of (2i, 2i + 1)
  int dimensions = 0;        // of each head, from its start, that are rotated
  float base = 0, scale = 0; // of the frequencies; scale 1 is none
  std::string scaling;       // "none", "linear", "yarn", "longrope"
  float extrapolation = 0, betaFast = 0, betaSlow = 0;  // YaRN's
  int originalContext = 0;
  bool factors = false;      // a factor for each frequency comes with the model (Llama 3.1, LongRoPE)

  std::vector<float> frequencies;  // radians a position, one for each pair

  // Hash of the frequencies' bits and the pairing: equal tables rotate keys alike.
  uint64_t hash() const;
};

// `contextTokens` chooses between LongRoPE's two tables. Throws model_unsupported.
Rope readRope(const GgufFile & file, bool neox, int headDimension, int trainContext, int contextTokens);

// Cosines and sines of a move by `delta` positions, laid out for rotateRow.
struct Rotation {
  Rotation(const Rope & rope, int64_t delta);
  bool neox;
  int dimensions;
  bool none;  // delta 0: rows stay bit for bit
  std::vector<float> cosines, sines;  // norm: one for each dimension, sines signed; neox: one for each pair
};

// Rotates `heads` heads of `headDimension` floats in place.
void rotateRow(const Rotation & rotation, float * row, int heads, int headDimension);
// The same for float16 bits.
void rotateRowF16(const Rotation & rotation, const uint16_t * from, uint16_t * to, int heads, int headDimension);

}  // namespace precedent
