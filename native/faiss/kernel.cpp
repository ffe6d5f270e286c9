#include "kernel.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace precedent {

namespace {

bool has_fast_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}
std::atomic<bool> fast{has_fast_products()};

// Several sums at a time, here and below: additions that wait for each other would leave the processor idle.
void products_portable(const float* query, size_t d, const float* rows, size_t n, float* out) {
  for (size_t i = 0; i < n; i++, rows += d) {
    float sums[8] = {};
    size_t j = 0;
    for (; j + 8 <= d; j += 8)
      for (size_t l = 0; l < 8; l++) sums[l] += query[j + l] * rows[j + l];
    float sum = 0;
    for (; j < d; j++) sum += query[j] * rows[j];
    for (float part : sums) sum += part;
    out[i] = sum;
  }
}

int32_t coarse_portable(const int16_t* query, const int8_t* row, size_t from, size_t d) {
  int32_t sum = 0;
  for (size_t j = from; j < d; j++) sum += static_cast<int32_t>(query[j]) * row[j];
  return sum;
}

#if defined(__x86_64__)
#define PRECEDENT_AVX2 __attribute__((target("avx2,fma")))

PRECEDENT_AVX2 inline float sum8(__m256 x) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}
PRECEDENT_AVX2 inline int32_t sum8(__m256i x) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

PRECEDENT_AVX2 void products_avx2(const float* query, size_t d, const float* rows, size_t n, float* out) {
  for (size_t i = 0; i < n; i++, rows += d) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, e = a;
    size_t j = 0;
    for (; j + 32 <= d; j += 32) {
      a = _mm256_fmadd_ps(_mm256_loadu_ps(rows + j), _mm256_loadu_ps(query + j), a);
      b = _mm256_fmadd_ps(_mm256_loadu_ps(rows + j + 8), _mm256_loadu_ps(query + j + 8), b);
      c = _mm256_fmadd_ps(_mm256_loadu_ps(rows + j + 16), _mm256_loadu_ps(query + j + 16), c);
      e = _mm256_fmadd_ps(_mm256_loadu_ps(rows + j + 24), _mm256_loadu_ps(query + j + 24), e);
    }
    for (; j + 8 <= d; j += 8) a = _mm256_fmadd_ps(_mm256_loadu_ps(rows + j), _mm256_loadu_ps(query + j), a);
    float sum = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, e)));
    for (; j < d; j++) sum += rows[j] * query[j];
    out[i] = sum;
  }
}

/** 16 products of 8 bits with 16, added in pairs. */
PRECEDENT_AVX2 inline __m256i pairs(const int16_t* query, const int8_t* row) {
  const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)));
  return _mm256_madd_epi16(wide, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query)));
}

PRECEDENT_AVX2 int32_t coarse_avx2(const int16_t* query, const int8_t* row, size_t d) {
  __m256i a = _mm256_setzero_si256(), b = a;
  size_t j = 0;
  for (; j + 32 <= d; j += 32) {
    a = _mm256_add_epi32(a, pairs(query + j, row + j));
    b = _mm256_add_epi32(b, pairs(query + j + 16, row + j + 16));
  }
  for (; j + 16 <= d; j += 16) a = _mm256_add_epi32(a, pairs(query + j, row + j));
  return sum8(_mm256_add_epi32(a, b)) + coarse_portable(query, row, j, d);
}

PRECEDENT_AVX2 void coarse_products_avx2(const CoarseQuery& query, size_t d, const int8_t* rows, const float* steps,
                                         size_t n, float* out) {
  for (size_t i = 0; i < n; i++)
    out[i] = query.step * steps[i] * static_cast<float>(coarse_avx2(query.numbers.data(), rows + i * d, d));
}
#endif

}  // namespace

void use_fast_products(bool use) { fast = use && has_fast_products(); }
const char* products_in_use() { return fast ? "avx2" : "portable"; }

void products(const float* query, size_t d, const float* rows, size_t n, float* out) {
#if defined(__x86_64__)
  if (fast) return products_avx2(query, d, rows, n, out);
#endif
  products_portable(query, d, rows, n, out);
}

CoarseQuery coarse_query(const float* vector, size_t d) {
  // The sum of d products with 8 bits has to fit into 32.
  const float largest = std::min(32767.0f, std::floor(2147483647.0f / (128.0f * static_cast<float>(d) + 1)));
  float most = 0;
  for (size_t i = 0; i < d; i++) most = std::max(most, std::fabs(vector[i]));
  CoarseQuery query{std::vector<int16_t>(d), most / largest};
  const float scale = largest / most;
  // Zeros if the numbers are too small to be distinguished from them.
  if (std::isfinite(scale))
    for (size_t i = 0; i < d; i++)
      query.numbers[i] = static_cast<int16_t>(std::lrintf(std::clamp(vector[i] * scale, -largest, largest)));
  return query;
}

void coarse_products(const CoarseQuery& query, size_t d, const int8_t* rows, const float* steps, size_t n, float* out) {
#if defined(__x86_64__)
  if (fast) return coarse_products_avx2(query, d, rows, steps, n, out);
#endif
  for (size_t i = 0; i < n; i++)
    out[i] = query.step * steps[i] * static_cast<float>(coarse_portable(query.numbers.data(), rows + i * d, 0, d));
}

}  // namespace precedent
