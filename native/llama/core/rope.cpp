#include "rope.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "failure.hpp"
#include "ggml.h"
#include "gguf-file.hpp"

namespace precedent {

namespace {

constexpr double pi = 3.14159265358979323846;

// The dimension from which on a frequency turns fewer than `turns` times within the original context (YaRN, eq. 17 to 23).
double correctionDimension(int dimensions, int originalContext, double turns, double base) {
  return dimensions * std::log(originalContext / (turns * 2 * pi)) / (2 * std::log(base));
}

std::vector<float> factorsOf(const GgufFile & file, const Rope & rope, int contextTokens) {
  std::vector<float> factors = file.tensor("rope_freqs.weight");
  if (!factors.empty()) return factors;
  return file.tensor(contextTokens > rope.originalContext ? "rope_factors_long.weight" : "rope_factors_short.weight");
}

}  // namespace

Rope readRope(const GgufFile & file, bool neox, int headDimension, int trainContext, int contextTokens) {
  Rope rope;
  rope.neox = neox;
  rope.dimensions = static_cast<int>(file.number("rope.dimension_count", headDimension));
  rope.base = static_cast<float>(file.number("rope.freq_base", 10000));
  rope.scaling = file.text("rope.scaling.type", "linear");
  const double factor = file.number("rope.scaling.factor", file.number("rope.scale_linear", 0));
  rope.scale = factor == 0 || rope.scaling == "none" ? 1.0f : static_cast<float>(1 / factor);
  rope.extrapolation = rope.scaling == "yarn" ? 1.0f : 0.0f;
  rope.betaFast = static_cast<float>(file.number("rope.scaling.yarn_beta_fast", 32));
  rope.betaSlow = static_cast<float>(file.number("rope.scaling.yarn_beta_slow", 1));
  rope.originalContext = static_cast<int>(file.number("rope.scaling.original_context_length", trainContext));
  if (rope.dimensions <= 0 || rope.dimensions % 2 != 0 || rope.dimensions > headDimension || rope.base <= 1)
    fail("model_unsupported", "RoPE of " + std::to_string(rope.dimensions) + " dimensions in heads of " + std::to_string(headDimension));

  const int pairs = rope.dimensions / 2;
  const std::vector<float> factors = factorsOf(file, rope, contextTokens);
  rope.factors = !factors.empty();
  if (rope.factors && static_cast<int>(factors.size()) != pairs)
    fail("model_unsupported", std::to_string(factors.size()) + " RoPE factors for " + std::to_string(pairs) + " frequencies");

  const double low = std::max(0.0, std::floor(correctionDimension(rope.dimensions, rope.originalContext, rope.betaFast, rope.base)));
  const double high = std::min<double>(
    rope.dimensions - 1, std::ceil(correctionDimension(rope.dimensions, rope.originalContext, rope.betaSlow, rope.base)));
  rope.frequencies.resize(pairs);
  for (int i = 0; i < pairs; ++i) {
    const double own = std::pow(static_cast<double>(rope.base), -2.0 * i / rope.dimensions) / (rope.factors ? factors[i] : 1.0);
    double frequency = rope.scale * own;
    if (rope.extrapolation != 0) {
      const double ramp = 1 - std::min(1.0, std::max(0.0, (i - low) / std::max(0.001, high - low)));
      frequency = frequency * (1 - ramp * rope.extrapolation) + own * ramp * rope.extrapolation;
    }
    rope.frequencies[i] = static_cast<float>(frequency);
  }
  return rope;
}

uint64_t Rope::hash() const {
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 1099511628211ull; };
  add(neox ? 1 : 0);
  for (const float frequency : frequencies) {
    uint8_t bytes[sizeof(float)];
    std::memcpy(bytes, &frequency, sizeof(float));
    for (const uint8_t byte : bytes) add(byte);
  }
  return hash;
}

Rotation::Rotation(const Rope & rope, int64_t delta) : neox(rope.neox), dimensions(rope.dimensions), none(delta == 0) {
  const int pairs = dimensions / 2;
  cosines.resize(neox ? pairs : dimensions);
  sines.resize(neox ? pairs : dimensions);
  for (int i = 0; i < pairs; ++i) {
    const double angle = static_cast<double>(delta) * rope.frequencies[i];
    const float cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
    if (neox) {
      cosines[i] = cosine;
      sines[i] = sine;
    } else {
      cosines[2 * i] = cosines[2 * i + 1] = cosine;
      sines[2 * i] = -sine;
      sines[2 * i + 1] = sine;
    }
  }
}

namespace {

void rotateHead(const Rotation & rotation, float * head) {
  const float * cosines = rotation.cosines.data();
  const float * sines = rotation.sines.data();
  if (rotation.neox) {
    const int pairs = rotation.dimensions / 2;
    for (int i = 0; i < pairs; ++i) {
      const float one = head[i], other = head[i + pairs];
      head[i] = one * cosines[i] - other * sines[i];
      head[i + pairs] = one * sines[i] + other * cosines[i];
    }
  } else {
    for (int i = 0; i < rotation.dimensions; i += 2) {
      const float one = head[i], other = head[i + 1];
      head[i] = one * cosines[i] + other * sines[i];
      head[i + 1] = other * cosines[i + 1] + one * sines[i + 1];
    }
  }
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2,f16c,fma")))

WIDE inline __attribute__((always_inline)) __m256 load(const uint16_t * at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(at)));
}

WIDE inline __attribute__((always_inline)) void store(uint16_t * at, __m256 values) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(at), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
}

// Eight dimensions at a time; dimensions (norm) or pairs (neox) must be a multiple of eight.
WIDE void rotateHeadF16Fast(const Rotation & rotation, const uint16_t * from, uint16_t * to) {
  const float * cosines = rotation.cosines.data();
  const float * sines = rotation.sines.data();
  if (rotation.neox) {
    const int pairs = rotation.dimensions / 2;
    for (int i = 0; i < pairs; i += 8) {
      const __m256 cosine = _mm256_loadu_ps(cosines + i), sine = _mm256_loadu_ps(sines + i);
      const __m256 one = load(from + i), other = load(from + i + pairs);
      store(to + i, _mm256_fmsub_ps(one, cosine, _mm256_mul_ps(other, sine)));
      store(to + i + pairs, _mm256_fmadd_ps(one, sine, _mm256_mul_ps(other, cosine)));
    }
  } else {
    for (int i = 0; i < rotation.dimensions; i += 8) {
      const __m256 values = load(from + i);
      const __m256 swapped = _mm256_permute_ps(values, 0xB1);
      const __m256 turned = _mm256_mul_ps(swapped, _mm256_loadu_ps(sines + i));
      store(to + i, _mm256_fmadd_ps(values, _mm256_loadu_ps(cosines + i), turned));
    }
  }
}

bool hasFast() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma");
  return has;
}
#else
void rotateHeadF16Fast(const Rotation &, const uint16_t *, uint16_t *) {}
bool hasFast() { return false; }
#endif

}  // namespace

void rotateRow(const Rotation & rotation, float * row, int heads, int headDimension) {
  if (rotation.none) return;
  for (int head = 0; head < heads; ++head) rotateHead(rotation, row + head * headDimension);
}

void rotateRowF16(const Rotation & rotation, const uint16_t * from, uint16_t * to, int heads, int headDimension) {
  if (rotation.none || rotation.dimensions < headDimension) std::memcpy(to, from, sizeof(uint16_t) * heads * headDimension);
  if (rotation.none) return;
  const bool fast = hasFast() && rotation.dimensions % 16 == 0;
  std::vector<float> values(fast ? 0 : rotation.dimensions);
  for (int head = 0; head < heads; ++head, from += headDimension, to += headDimension) {
    if (fast) {
      rotateHeadF16Fast(rotation, from, to);
      continue;
    }
    ggml_fp16_to_fp32_row(from, values.data(), rotation.dimensions);
    rotateHead(rotation, values.data());
    ggml_fp32_to_fp16_row(values.data(), to, rotation.dimensions);
  }
}

}  // namespace precedent
