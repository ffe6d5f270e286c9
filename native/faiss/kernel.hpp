// Inner products of one query with many stored vectors: the loops in which a search spends its time. AVX2 and FMA where the processor has
// them (asked at run time; Debian's libfaiss is compiled for SSE2), else portable loops.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace precedent {

/** false: the portable loops, as on a processor without AVX2; for tests and measurements. */
void use_fast_products(bool use);
/** What products are computed with: "avx2" or "portable". */
const char* products_in_use();

/** out[i] = query · row i, for n rows of d numbers one after the other. */
void products(const float* query, size_t d, const float* rows, size_t n, float* out);

/** A query in 16 bits a number, so that it can be multiplied with 8 bits in whole numbers: number = step * numbers[i]. */
struct CoarseQuery {
  std::vector<int16_t> numbers;
  float step;
};
CoarseQuery coarse_query(const float* vector, size_t d);

/** out[i] = query · row i, for n rows of d bytes; steps: one a row (eight-bit.hpp). */
void coarse_products(const CoarseQuery& query, size_t d, const int8_t* rows, const float* steps, size_t n, float* out);

}  // namespace precedent
