// A vector in 8 bits a number, which gives a product to about a thousandth: number = step * byte, 127 for the largest of a vector. The
// step is such that the length stays, or the nearest of a vector could be another one than itself.
#pragma once
#include <cstddef>
#include <cstdint>

namespace precedent {

/** d finite numbers into d bytes; gives the step (0 for a vector of zeros). What was decoded gives the same bytes again. */
float encode8(const float* vector, size_t d, int8_t* bytes);
void decode8(const int8_t* bytes, size_t d, float step, float* vector);

}  // namespace precedent
