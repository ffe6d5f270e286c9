// Inner products of one query with many stored vectors: the loop in which a search spends its time. Debian's libfaiss is compiled
// for SSE2 and decodes half precision in software; here AVX2, FMA and F16C are used where the processor has them (asked at run time).
#pragma once
#include <cstddef>
#include <cstdint>

namespace precedent {

/** How a vector is stored: 4 or 2 bytes a number. */
enum class Code { single, half };

/** Whether this processor can run products(); where it can't, FAISS computes. */
bool fast_products();

/** out[i] = query · codes[i], for n codes of d numbers one after the other. Only where fast_products(). */
void products(Code code, const float* query, size_t d, const uint8_t* codes, size_t n, float* out);

/** CRC-32C of the bytes, going on from `crc` (0 at first). */
uint32_t crc32c(uint32_t crc, const uint8_t* bytes, size_t n);

}  // namespace precedent
