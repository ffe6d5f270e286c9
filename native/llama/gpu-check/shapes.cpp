#include "shapes.hpp"

#include <cmath>

#include "../core/failure.hpp"

namespace precedent {

namespace {

constexpr uint32_t convolution = 4, stateSize = 16, timeStepRank = 8;  // of Mamba

// Puts together the tensors of one kind of layer.
class Block {
 public:
  Block(std::vector<Tensor>& tensors, const Shape& shape, int layer)
      : tensors_(tensors), matrix_(static_cast<ggml_type>(shape.type)), prefix_("blk." + std::to_string(layer) + ".") {}
  // Larger than usual (1) where attention must not be the same everywhere.
  void matrix(const char* name, int64_t columns, int64_t rows, float larger = 1) {
    tensors_.push_back({prefix_ + name, columns, rows, matrix_, larger / std::sqrt(static_cast<float>(columns)), 0});
  }
  void vector(const char* name, int64_t size, float around) { tensors_.push_back({prefix_ + name, size, 1, GGML_TYPE_F32, 0.1f, around}); }
  void floats(const char* name, int64_t columns, int64_t rows, float around) {
    tensors_.push_back({prefix_ + name, columns, rows, GGML_TYPE_F32, 0.1f, around});
  }

 private:
  std::vector<Tensor>& tensors_;
  ggml_type matrix_;
  std::string prefix_;
};

void addMamba(Block& block, int64_t embedding) {
  const int64_t inner = 2 * embedding;
  block.vector("attn_norm.weight", embedding, 1);
  block.matrix("ssm_in.weight", embedding, 2 * inner);
  block.floats("ssm_conv1d.weight", convolution, inner, 0.3f);
  block.vector("ssm_conv1d.bias", inner, 0);
  block.matrix("ssm_x.weight", inner, timeStepRank + 2 * stateSize);
  block.matrix("ssm_dt.weight", timeStepRank, inner);
  block.vector("ssm_dt.bias", inner, 0);
  block.floats("ssm_a", stateSize, inner, -1);
  block.vector("ssm_d", inner, 1);
  block.matrix("ssm_out.weight", inner, embedding);
}

void addGpt2(Block& block, int64_t embedding, int64_t keys, int64_t forward) {
  for (const std::string norm : {"attn_norm", "ffn_norm"}) {
    block.vector((norm + ".weight").c_str(), embedding, 1);
    block.vector((norm + ".bias").c_str(), embedding, 0);
  }
  block.matrix("attn_qkv.weight", embedding, embedding + 2 * keys, 1.5f);
  block.vector("attn_qkv.bias", embedding + 2 * keys, 0);
  block.matrix("attn_output.weight", embedding, embedding);
  block.vector("attn_output.bias", embedding, 0);
  block.matrix("ffn_up.weight", embedding, forward);
  block.vector("ffn_up.bias", forward, 0);
  block.matrix("ffn_down.weight", forward, embedding);
  block.vector("ffn_down.bias", embedding, 0);
}

void addLlama(Block& block, int64_t embedding, int64_t keys, int64_t forward, bool olmo2) {
  if (olmo2) {
    block.vector("attn_q_norm.weight", embedding, 1);
    block.vector("attn_k_norm.weight", keys, 1);
    block.vector("post_attention_norm.weight", embedding, 1);
    block.vector("post_ffw_norm.weight", embedding, 1);
  } else {
    block.vector("attn_norm.weight", embedding, 1);
    block.vector("ffn_norm.weight", embedding, 1);
  }
  block.matrix("attn_q.weight", embedding, embedding, 1.5f);
  block.matrix("attn_k.weight", embedding, keys, 1.5f);
  block.matrix("attn_v.weight", embedding, keys);
  block.matrix("attn_output.weight", embedding, embedding);
  block.matrix("ffn_gate.weight", embedding, forward);
  block.matrix("ffn_up.weight", embedding, forward);
  block.matrix("ffn_down.weight", forward, embedding);
}

}  // namespace

void addParameters(gguf_context * gguf, const Shape & shape) {
  const auto key = [&](const char * name) { return shape.architecture + "." + name; };
  gguf_set_val_str(gguf, "general.architecture", shape.architecture.c_str());
  gguf_set_val_str(gguf, "general.name", ("random " + shape.architecture).c_str());
  gguf_set_val_u32(gguf, key("context_length").c_str(), static_cast<uint32_t>(shape.trainContext));
  gguf_set_val_u32(gguf, key("embedding_length").c_str(), static_cast<uint32_t>(shape.embedding));
  gguf_set_val_u32(gguf, key("block_count").c_str(), static_cast<uint32_t>(shape.layers));
  gguf_set_val_u32(gguf, key("feed_forward_length").c_str(), static_cast<uint32_t>(shape.feedForward));
  gguf_set_val_u32(gguf, key("attention.head_count").c_str(), static_cast<uint32_t>(shape.heads));
  gguf_set_val_u32(gguf, key("attention.head_count_kv").c_str(), static_cast<uint32_t>(shape.keyHeads));
  gguf_set_val_f32(gguf, key("attention.layer_norm_rms_epsilon").c_str(), 1e-5f);
  gguf_set_val_f32(gguf, key("attention.layer_norm_epsilon").c_str(), 1e-5f);
  gguf_set_val_u32(gguf, key("rope.dimension_count").c_str(), static_cast<uint32_t>(shape.embedding / shape.heads));
  gguf_set_val_f32(gguf, key("rope.freq_base").c_str(), shape.ropeBase);
  const int32_t sections[] = {16, 8, 8, 0};
  if (shape.architecture == "qwen2vl") gguf_set_arr_data(gguf, key("rope.dimension_sections").c_str(), GGUF_TYPE_INT32, sections, 4);
  if (shape.architecture == "olmo2") gguf_set_val_u32(gguf, key("attention.sliding_window").c_str(), 64);
  if (shape.architecture == "mamba") {
    gguf_set_val_u32(gguf, key("ssm.conv_kernel").c_str(), convolution);
    gguf_set_val_u32(gguf, key("ssm.inner_size").c_str(), static_cast<uint32_t>(2 * shape.embedding));
    gguf_set_val_u32(gguf, key("ssm.state_size").c_str(), stateSize);
    gguf_set_val_u32(gguf, key("ssm.time_step_rank").c_str(), timeStepRank);
  }
  if (!shape.yarn) return;
  gguf_set_val_str(gguf, key("rope.scaling.type").c_str(), "yarn");
  gguf_set_val_f32(gguf, key("rope.scaling.factor").c_str(), 4);
  gguf_set_val_u32(gguf, key("rope.scaling.original_context_length").c_str(), static_cast<uint32_t>(shape.trainContext / 4));
}

std::vector<Tensor> tensorsOf(const Shape & shape) {
  const ggml_type matrix = static_cast<ggml_type>(shape.type);
  const int64_t embedding = shape.embedding, forward = shape.feedForward, head = embedding / shape.heads, keys = head * shape.keyHeads;
  const float usual = 1 / std::sqrt(static_cast<float>(embedding));
  std::vector<Tensor> tensors{{"token_embd.weight", embedding, shape.vocabulary, matrix, 1, 0},
                {"output_norm.weight", embedding, 1, GGML_TYPE_F32, 0.1f, 1},
                {"output.weight", embedding, shape.vocabulary, matrix, 2 * usual, 0}};
  if (shape.factors) tensors.push_back({"rope_freqs.weight", head / 2, 1, GGML_TYPE_F32, 0.3f, 2});
  if (shape.architecture == "gpt2") {
    tensors.push_back({"output_norm.bias", embedding, 1, GGML_TYPE_F32, 0.1f, 0});
    tensors.push_back({"position_embd.weight", embedding, shape.trainContext, GGML_TYPE_F32, 0.3f, 0});
  }
  for (int layer = 0; layer < shape.layers; ++layer) {
    Block block(tensors, shape, layer);
    if (shape.architecture == "mamba") addMamba(block, embedding);
    else if (shape.architecture == "gpt2") addGpt2(block, embedding, keys, forward);
    else addLlama(block, embedding, keys, forward, shape.architecture == "olmo2");
  }
  return tensors;
}

Shape namedShape(const std::string & name) {
  Shape shape;
  if (name == "tiny-neox") shape.architecture = "qwen2";
  if (name == "tiny-yarn") shape.yarn = true;
  if (name == "tiny-factors") shape.factors = true;
  if (name == "tiny-narrow") shape.heads = 4;
  if (name == "tiny-mrope") shape.architecture = "qwen2vl";
  if (name == "tiny-window") shape.architecture = "olmo2";
  if (name == "tiny-recurrent") shape.architecture = "mamba";
  if (name == "tiny-positions") shape.architecture = "gpt2", shape.trainContext = 256, shape.keyHeads = shape.heads;
  if (name == "8b") {
    shape.layers = 32, shape.embedding = 4096, shape.heads = 32, shape.keyHeads = 8, shape.feedForward = 14336;
    shape.vocabulary = 32000, shape.trainContext = 131072, shape.ropeBase = 500000, shape.type = GGML_TYPE_F16;
  } else if (name.rfind("tiny", 0) != 0) {
    fail("invalid_argument", "there is no shape " + name);
  }
  return shape;
}

}  // namespace precedent
