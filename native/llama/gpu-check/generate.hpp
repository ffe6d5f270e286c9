// Writes GGUF models with random weights and a vocabulary of bytes: tiny ones for tests, or the shape of a real one for measuring speed
// where no real weights are at hand.
#pragma once

#include <cstdint>
#include <string>

namespace precedent {

struct Shape {
  // "llama": RoPE on pairs (2i, 2i + 1); "qwen2": on (i, i + n / 2). Without links: "qwen2vl" (M-RoPE), "olmo2" (sliding window),
  // "gpt2" (a table of positions), "mamba" (recurrent).
  std::string architecture = "llama";
  int layers = 3, embedding = 128, heads = 2, keyHeads = 1, feedForward = 192, vocabulary = 320, trainContext = 4096;
  int type = 0;           // ggml_type of the matrices: 0 f32, 1 f16, 8 q8_0
  float ropeBase = 10000;
  bool yarn = false;      // factor 4 over a quarter of trainContext
  bool factors = false;   // rope_freqs.weight, as Llama 3.1 has
  uint64_t seed = 1;
};

// "tiny", "tiny-neox", "tiny-yarn", "tiny-factors", "tiny-narrow" (heads of 32 dimensions), "tiny-mrope", "tiny-window",
// "tiny-positions", "tiny-recurrent", "8b". Throws invalid_argument.
Shape namedShape(const std::string & name);
// Throws model_failed when it can't be written.
void generateModel(const Shape & shape, const std::string & path);
// Writes the model with its matrices as f32, f16 or q8_0. Throws model_missing, model_failed.
void convertModel(const std::string & from, const std::string & to, int type);

}  // namespace precedent
