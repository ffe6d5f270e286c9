#include "refusals.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "llama.h"

// Not in llama.cpp's headers, but exported; its release is pinned.
enum llm_arch : unsigned int;
std::vector<llm_arch> llm_arch_all();
const char * llm_arch_name(llm_arch architecture);
bool llm_arch_is_recurrent(const llm_arch & architecture);
bool llm_arch_is_hybrid(const llm_arch & architecture);
bool llm_arch_is_diffusion(const llm_arch & architecture);
llama_model * llama_model_create(llm_arch architecture, const llama_model_params & params);

namespace precedent {

namespace {

using Empty = std::unique_ptr<llama_model, void (*)(llama_model *)>;

// A model without a file, which is asked for what depends on its architecture alone; null where there is none.
Empty emptyModel(llm_arch architecture) {
  llama_model * made = nullptr;
  try {
    made = llama_model_create(architecture, llama_model_default_params());
  } catch (const std::exception &) {
    // "unknown" and the like
  }
  return Empty(made, llama_model_free);
}

std::vector<std::string> architecturesThat(const std::function<bool(llm_arch, const llama_model *)> & are) {
  std::vector<std::string> names;
  for (const llm_arch architecture : llm_arch_all()) {
    const Empty model = emptyModel(architecture);
    if (model != nullptr && are(architecture, model.get())) names.push_back(llm_arch_name(architecture));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool writes(llm_arch architecture, const llama_model * model) {
  return !llm_arch_is_diffusion(architecture) && !llama_model_has_encoder(model);
}

bool keepsState(llm_arch architecture) { return llm_arch_is_recurrent(architecture) || llm_arch_is_hybrid(architecture); }

}  // namespace

std::vector<Refusal> refusals() {
  const std::string model = "the model", links = "links", quantised = "kvType q8_0", architecture = "architecture";
  const auto ofRope = [](const std::vector<llama_rope_type> & types) {
    return architecturesThat([=](llm_arch one, const llama_model * empty) {
      return writes(one, empty) && !keepsState(one) && std::count(types.begin(), types.end(), llama_model_rope_type(empty)) > 0;
    });
  };
  return {
    {refusal::diffusion, architecture, model, architecturesThat([](llm_arch one, const llama_model *) { return llm_arch_is_diffusion(one); })},
    {refusal::encoder, architecture, model, architecturesThat([](llm_arch, const llama_model * empty) { return llama_model_has_encoder(empty); })},
    {refusal::encoder, "attention.causal: false", model, {}},
    {refusal::vocabulary, "tokenizer.ggml.model", model, {}},
    {refusal::recurrent, architecture, links,
     architecturesThat([](llm_arch one, const llama_model * empty) { return writes(one, empty) && keepsState(one); })},
    {refusal::window, "attention.sliding_window", links, {}},
    {refusal::positions, architecture, links, ofRope({LLAMA_ROPE_TYPE_NONE})},
    {refusal::mrope, architecture, links, ofRope({LLAMA_ROPE_TYPE_MROPE, LLAMA_ROPE_TYPE_IMROPE, LLAMA_ROPE_TYPE_VISION})},
    {refusal::mrope, "rope.dimension_sections", links, {}},
    {refusal::latent, "attention.key_length_mla", links, {}},
    {std::string("a head count") + refusal::uneven, "attention.head_count, head_count_kv", links, {}},
    {refusal::headless, "attention.head_count", links, {}},
    {"a RoPE scaling is not understood", "rope.scaling.type", links, {}},
    {"a key moved by us is not the one that the model computes there", "tried when the context is made", links, {}},
    {refusal::quantisedValues, "flashAttention: off", quantised, {}},
    {"a quantised cache needs heads of a multiple of 64 dimensions", "attention.key_length", quantised, {}},
  };
}

}  // namespace precedent
