// A vector in 16 bits a number, kept as two arrays of 8: the upper halves alone give a product to about a thousandth, both together to
// some millionths. number = step * (256 * upper + lower), both halves signed; the largest number of a vector takes all of the range.
#pragma once
#include <cstddef>
#include <cstdint>

namespace precedent {

/** d finite numbers into two halves of d; gives the step (0 for a vector of zeros). */
float encode16(const float* vector, size_t d, int8_t* upper, int8_t* lower);
void decode16(const int8_t* upper, const int8_t* lower, size_t d, float step, float* vector);
/** query · vector, without decoding it first. */
float product16(const float* query, const int8_t* upper, const int8_t* lower, size_t d, float step);

}  // namespace precedent
