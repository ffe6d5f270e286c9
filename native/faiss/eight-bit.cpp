#include "eight-bit.hpp"

#include <algorithm>
#include <cmath>

namespace precedent {

namespace {

constexpr float largest = 127;

}  // namespace

float encode8(const float* vector, size_t d, int8_t* bytes) {
  float most = 0;
  for (size_t i = 0; i < d; i++) most = std::max(most, std::fabs(vector[i]));
  const float scale = largest / most;
  // Also if the numbers are too small to be distinguished from zeros.
  if (!std::isfinite(scale)) {
    std::fill_n(bytes, d, 0);
    return 0;
  }
  double squares = 0, rounded = 0;
  for (size_t i = 0; i < d; i++) {
    const float number = std::clamp(vector[i] * scale, -largest, largest);
    bytes[i] = static_cast<int8_t>(std::lrintf(number));
    squares += number * number;
    rounded += bytes[i] * bytes[i];
  }
  return most / largest * static_cast<float>(std::sqrt(squares / rounded));
}

void decode8(const int8_t* bytes, size_t d, float step, float* vector) {
  for (size_t i = 0; i < d; i++) vector[i] = step * static_cast<float>(bytes[i]);
}

}  // namespace precedent
