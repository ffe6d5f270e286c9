#include "sixteen-bit.hpp"

#include <algorithm>
#include <cmath>

namespace precedent {

namespace {

/** 127 * 256 + 127: beyond it the upper half would not fit when the lower one is negative. */
constexpr float largest = 32639;

}  // namespace

float encode16(const float* vector, size_t d, int8_t* upper, int8_t* lower) {
  float most = 0;
  for (size_t i = 0; i < d; i++) most = std::max(most, std::fabs(vector[i]));
  const float scale = largest / most;
  // Also if the numbers are too small to be distinguished from zeros.
  if (!std::isfinite(scale)) {
    std::fill_n(upper, d, 0);
    std::fill_n(lower, d, 0);
    return 0;
  }
  for (size_t i = 0; i < d; i++) {
    const int value = static_cast<int>(std::lrintf(std::clamp(vector[i] * scale, -largest, largest)));
    // Rounded, so that the lower half is signed and the upper half alone is as near as 8 bits come.
    const int high = (value + 128) >> 8;
    upper[i] = static_cast<int8_t>(high);
    lower[i] = static_cast<int8_t>(value - 256 * high);
  }
  return most / largest;
}

void decode16(const int8_t* upper, const int8_t* lower, size_t d, float step, float* vector) {
  for (size_t i = 0; i < d; i++) vector[i] = step * static_cast<float>(256 * upper[i] + lower[i]);
}

float product16(const float* query, const int8_t* upper, const int8_t* lower, size_t d, float step) {
  // Eight sums that don't wait for each other.
  float sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= d; i += 8)
    for (size_t j = 0; j < 8; j++) sums[j] += query[i + j] * static_cast<float>(256 * upper[i + j] + lower[i + j]);
  float sum = 0;
  for (; i < d; i++) sum += query[i] * static_cast<float>(256 * upper[i] + lower[i]);
  for (float part : sums) sum += part;
  return step * sum;
}

}  // namespace precedent
