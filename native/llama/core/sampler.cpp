#include "sampler.hpp"

#include <algorithm>
#include <cmath>

#include "failure.hpp"

namespace precedent {

Sampler::Sampler(const Sampling & sampling) : chain_(nullptr, llama_sampler_free) {
  require(std::isfinite(sampling.temperature) && sampling.temperature >= 0 && sampling.temperature <= 100, "temperature must be 0 to 100");
  require(sampling.topP > 0 && sampling.topP <= 1, "topP must be above 0 and at most 1");
  if (sampling.temperature == 0) return;
  llama_sampler_chain_params params = llama_sampler_chain_default_params();
  params.no_perf = true;
  chain_.reset(llama_sampler_chain_init(params));
  if (sampling.topP < 1) llama_sampler_chain_add(chain_.get(), llama_sampler_init_top_p(sampling.topP, 1));
  llama_sampler_chain_add(chain_.get(), llama_sampler_init_temp(sampling.temperature));
  llama_sampler_chain_add(chain_.get(), llama_sampler_init_dist(sampling.seed));
}

llama_token Sampler::sample(const float * logits, int vocabulary) {
  const llama_token best = static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits);
  if (chain_ == nullptr) return best;
  candidates_.resize(static_cast<size_t>(vocabulary));
  for (int i = 0; i < vocabulary; ++i) candidates_[static_cast<size_t>(i)] = {i, logits[i], 0};
  llama_token_data_array all{candidates_.data(), candidates_.size(), -1, false};
  llama_sampler_apply(chain_.get(), &all);
  return all.selected < 0 ? best : all.data[all.selected].id;
}

}  // namespace precedent
