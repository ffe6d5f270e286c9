// Chooses the next token from its logits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "llama.h"

namespace precedent {

struct Sampling {
  float temperature = 0;  // 0: the largest logit, whatever topP and seed are
  float topP = 1;         // of the probability before the temperature, as llama.cpp orders them
  uint32_t seed = 0;
};

class Sampler {
public:
  // Throws invalid_argument.
  explicit Sampler(const Sampling & sampling);
  llama_token sample(const float * logits, int vocabulary);

private:
  std::unique_ptr<llama_sampler, void (*)(llama_sampler *)> chain_;  // null: greedy
  std::vector<llama_token_data> candidates_;
};

}  // namespace precedent
