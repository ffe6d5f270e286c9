// CRC-32C, by the processor's own instruction where it has one.
#include "checksum.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace precedent {

namespace {

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(uint32_t crc, const uint8_t* bytes, size_t n) {
  uint64_t state = ~crc;
  for (; n >= 8; n -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    state = _mm_crc32_u64(state, word);
  }
  for (; n > 0; n--, bytes++) state = _mm_crc32_u8(static_cast<uint32_t>(state), *bytes);
  return ~static_cast<uint32_t>(state);
}
#endif

std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (value & 1 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}

}  // namespace

uint32_t crc32c(uint32_t crc, const uint8_t* bytes, size_t n) {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2");
  if (has) return crc32c_sse42(crc, bytes, n);
#endif
  static const std::array<uint32_t, 256> table = crc_table();
  uint32_t state = ~crc;
  for (size_t i = 0; i < n; i++) state = table[(state ^ bytes[i]) & 255] ^ (state >> 8);
  return ~state;
}

}  // namespace precedent
