#include "kernel.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace precedent {

namespace {

#if defined(__x86_64__)
#define PRECEDENT_AVX2 __attribute__((target("avx2,fma,f16c")))

PRECEDENT_AVX2 inline float sum8(__m256 x) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

struct Single {
  static constexpr size_t bytes = 4;
  PRECEDENT_AVX2 static inline __m256 load8(const uint8_t* at) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  }
  static inline float load1(const uint8_t* at) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
};

struct Half {
  static constexpr size_t bytes = 2;
  PRECEDENT_AVX2 static inline __m256 load8(const uint8_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  PRECEDENT_AVX2 static inline float load1(const uint8_t* at) {
    uint16_t value;
    std::memcpy(&value, at, 2);
    return _cvtsh_ss(value);
  }
};

// Four sums at a time: multiply-adds that wait for each other would leave the processor idle.
template <class Stored>
PRECEDENT_AVX2 void products_avx2(const float* query, size_t d, const uint8_t* codes, size_t n, float* out) {
  const size_t step = 8 * Stored::bytes;
  for (size_t i = 0; i < n; i++, codes += d * Stored::bytes) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, e = a;
    const uint8_t* at = codes;
    size_t j = 0;
    for (; j + 32 <= d; j += 32, at += 4 * step) {
      a = _mm256_fmadd_ps(Stored::load8(at), _mm256_loadu_ps(query + j), a);
      b = _mm256_fmadd_ps(Stored::load8(at + step), _mm256_loadu_ps(query + j + 8), b);
      c = _mm256_fmadd_ps(Stored::load8(at + 2 * step), _mm256_loadu_ps(query + j + 16), c);
      e = _mm256_fmadd_ps(Stored::load8(at + 3 * step), _mm256_loadu_ps(query + j + 24), e);
    }
    for (; j + 8 <= d; j += 8, at += step) a = _mm256_fmadd_ps(Stored::load8(at), _mm256_loadu_ps(query + j), a);
    float sum = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, e)));
    for (; j < d; j++, at += Stored::bytes) sum += Stored::load1(at) * query[j];
    out[i] = sum;
  }
}

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

bool fast_products() {
#if defined(__x86_64__)
  static const bool has =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return has;
#else
  return false;
#endif
}

void products(Code code, const float* query, size_t d, const uint8_t* codes, size_t n, float* out) {
#if defined(__x86_64__)
  if (code == Code::half) products_avx2<Half>(query, d, codes, n, out);
  else products_avx2<Single>(query, d, codes, n, out);
#endif
}

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
