// What is refused and why, in one place: the checks of a model and the table of `precedent models check` say the same words.
#pragma once

#include <string>
#include <vector>

namespace precedent {

namespace refusal {
// By architecture, or by what a file says of itself.
constexpr const char * diffusion = "a diffusion model does not write from left to right";
constexpr const char * encoder = "an encoder does not write text";
constexpr const char * recurrent = "recurrent layers have no keys and values of single tokens";
constexpr const char * positions = "without rotary positions a key can't be moved";
constexpr const char * mrope = "keys of M-RoPE can't be moved";
// By the file alone.
constexpr const char * vocabulary = "it has no vocabulary";
constexpr const char * window = "sliding-window attention forgets cells that a link needs";
constexpr const char * latent = "latent attention (MLA) keeps no keys by head";
constexpr const char * uneven = " differs between layers";
constexpr const char * headless = "it has no attention heads";
// By the settings.
constexpr const char * quantisedValues = "quantised values need flash attention";
constexpr const char * narrowHeads = "a quantised cache needs heads of a multiple of 64 dimensions; this model's have ";
}  // namespace refusal

struct Refusal {
  std::string why;
  std::string decided;                     // by what: "architecture", or a key of the file or the arm
  std::string refused;                     // "the model", "links", "kvType q8_0"
  std::vector<std::string> architectures;  // of this llama.cpp, sorted; empty: it depends on the file
};

// In the order in which a model is checked.
std::vector<Refusal> refusals();

}  // namespace precedent
