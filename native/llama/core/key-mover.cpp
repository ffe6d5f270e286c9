#include "key-mover.hpp"

#include <cmath>
#include <cstring>

namespace precedent {

KeyMover::KeyMover(ggml_type type, int heads, int headDimension)
  : type_(type), heads_(heads), headDimension_(headDimension), hadamard_(0), rowBytes_(ggml_row_size(type, heads * headDimension)) {
  if (ggml_is_quantized(type) && headDimension % 64 == 0)
    for (hadamard_ = 64; headDimension % (2 * hadamard_) == 0;) hadamard_ *= 2;
  row_.resize(static_cast<size_t>(width()));
}

void KeyMover::transform(float * row) const {
  if (hadamard_ == 0) return;
  const float scale = 1.0f / std::sqrt(static_cast<float>(hadamard_));
  for (int start = 0; start < width(); start += hadamard_) {
    float * part = row + start;
    for (int step = 1; step < hadamard_; step *= 2)
      for (int i = 0; i < hadamard_; i += 2 * step)
        for (int j = i; j < i + step; ++j) {
          const float one = part[j], other = part[j + step];
          part[j] = one + other;
          part[j + step] = one - other;
        }
    for (int i = 0; i < hadamard_; ++i) part[i] *= scale;
  }
}

void KeyMover::decode(const uint8_t * row, float * to) const {
  if (type_ == GGML_TYPE_F32)
    std::memcpy(to, row, rowBytes_);
  else
    ggml_get_type_traits(type_)->to_float(row, to, width());
  transform(to);
}

void KeyMover::encode(float * row, uint8_t * to) const {
  transform(row);
  if (type_ == GGML_TYPE_F32)
    std::memcpy(to, row, rowBytes_);
  else
    ggml_get_type_traits(type_)->from_float_ref(row, to, width());
}

void KeyMover::move(const Rotation & rotation, const uint8_t * from, uint8_t * to, int rows) {
  if (rotation.none) {
    std::memcpy(to, from, rowBytes_ * static_cast<size_t>(rows));
    return;
  }
  for (int i = 0; i < rows; ++i, from += rowBytes_, to += rowBytes_) {
    if (type_ == GGML_TYPE_F16) {
      rotateRowF16(rotation, reinterpret_cast<const uint16_t *>(from), reinterpret_cast<uint16_t *>(to), heads_, headDimension_);
      continue;
    }
    decode(from, row_.data());
    rotateRow(rotation, row_.data(), heads_, headDimension_);
    encode(row_.data(), to);
  }
}

}  // namespace precedent
