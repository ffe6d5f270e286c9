#include "generate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "../core/failure.hpp"
#include "ggml.h"
#include "gguf.h"

namespace precedent {

namespace {

struct Tensor {
  std::string name;
  int64_t columns, rows;
  ggml_type type;
  float scale;   // of the random values
  float offset;  // added to them
};

// splitmix64: the n-th number is a function of n, so that rows can be made in any order.
uint64_t randomAt(uint64_t seed, uint64_t n) {
  uint64_t z = seed + (n + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Nearly normal with variance 1: the sum of four uniforms of 16 bits.
float normalAt(uint64_t seed, uint64_t n) {
  const uint64_t bits = randomAt(seed, n);
  const float sum = static_cast<float>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48));
  return (sum / 65536.0f - 2.0f) * 1.7320508f;
}

// GPT-2's characters for the 256 bytes.
std::string characterOf(int byte) {
  int code = byte;
  const auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255); };
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

constexpr const char * chatml =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

void addVocabulary(gguf_context * gguf, int size) {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.push_back(characterOf(byte));
  for (const char * text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) texts.push_back(text);
  texts.push_back(characterOf(' ') + "t");
  while (static_cast<int>(texts.size()) < size) texts.push_back("<unused" + std::to_string(texts.size()) + ">");
  std::vector<const char *> pointers;
  for (const std::string & text : texts) pointers.push_back(text.c_str());
  std::vector<int32_t> types(texts.size(), 1);
  for (const size_t control : {256u, 257u, 258u}) types[control] = 3;
  for (size_t unused = 260; unused < types.size(); ++unused) types[unused] = 5;
  const std::string merge = characterOf(' ') + " t";
  const char * merges[] = {merge.c_str()};
  gguf_set_val_str(gguf, "tokenizer.ggml.model", "gpt2");
  gguf_set_val_str(gguf, "tokenizer.ggml.pre", "gpt-2");
  gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
  gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
  gguf_set_arr_str(gguf, "tokenizer.ggml.merges", merges, 1);
  gguf_set_val_u32(gguf, "tokenizer.ggml.bos_token_id", 257);
  gguf_set_val_u32(gguf, "tokenizer.ggml.eos_token_id", 258);
  gguf_set_val_bool(gguf, "tokenizer.ggml.add_bos_token", false);
  gguf_set_val_str(gguf, "tokenizer.chat_template", chatml);
}

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
  gguf_set_val_u32(gguf, key("rope.dimension_count").c_str(), static_cast<uint32_t>(shape.embedding / shape.heads));
  gguf_set_val_f32(gguf, key("rope.freq_base").c_str(), shape.ropeBase);
  const int32_t sections[] = {16, 8, 8, 0};
  if (shape.architecture == "qwen2vl") gguf_set_arr_data(gguf, key("rope.dimension_sections").c_str(), GGUF_TYPE_INT32, sections, 4);
  if (shape.architecture == "olmo2") gguf_set_val_u32(gguf, key("attention.sliding_window").c_str(), 64);
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
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    const auto norm = [&](const char* name, int64_t size) { tensors.push_back({block + name, size, 1, GGML_TYPE_F32, 0.1f, 1}); };
    if (shape.architecture == "olmo2") {
      norm("attn_q_norm.weight", embedding);
      norm("attn_k_norm.weight", keys);
      norm("post_attention_norm.weight", embedding);
      norm("post_ffw_norm.weight", embedding);
    } else {
      norm("attn_norm.weight", embedding);
      norm("ffn_norm.weight", embedding);
    }
    // Larger than usual, so that attention is not the same everywhere.
    tensors.push_back({block + "attn_q.weight", embedding, embedding, matrix, 1.5f * usual, 0});
    tensors.push_back({block + "attn_k.weight", embedding, keys, matrix, 1.5f * usual, 0});
    tensors.push_back({block + "attn_v.weight", embedding, keys, matrix, usual, 0});
    tensors.push_back({block + "attn_output.weight", embedding, embedding, matrix, usual, 0});
    tensors.push_back({block + "ffn_gate.weight", embedding, forward, matrix, usual, 0});
    tensors.push_back({block + "ffn_up.weight", embedding, forward, matrix, usual, 0});
    tensors.push_back({block + "ffn_down.weight", forward, embedding, matrix, 1 / std::sqrt(static_cast<float>(forward)), 0});
  }
  return tensors;
}

// Rows of one tensor, made by all cores and written in order.
void writeRows(FILE * file, const Tensor & tensor, uint64_t seed) {
  const size_t rowBytes = ggml_row_size(tensor.type, tensor.columns);
  const int64_t perPart = 64, workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<uint8_t> bytes(static_cast<size_t>(perPart * workers) * rowBytes);
  for (int64_t start = 0; start < tensor.rows; start += perPart * workers) {
    std::vector<std::thread> threads;
    for (int64_t first = start; first < std::min(tensor.rows, start + perPart * workers); first += perPart)
      threads.emplace_back([&, first] {
        std::vector<float> row(static_cast<size_t>(tensor.columns));
        for (int64_t r = first; r < std::min(tensor.rows, first + perPart); ++r) {
          for (int64_t c = 0; c < tensor.columns; ++c)
            row[static_cast<size_t>(c)] = tensor.offset + tensor.scale * normalAt(seed, static_cast<uint64_t>(r * tensor.columns + c));
          ggml_quantize_chunk(tensor.type, row.data(), bytes.data() + static_cast<size_t>(r - start) * rowBytes, 0, 1, tensor.columns, nullptr);
        }
      });
    for (std::thread & thread : threads) thread.join();
    const size_t size = static_cast<size_t>(std::min(tensor.rows - start, perPart * workers)) * rowBytes;
    if (std::fwrite(bytes.data(), 1, size, file) != size) fail("model_failed", "the generated model could not be written");
  }
}

}  // namespace

Shape namedShape(const std::string & name) {
  Shape shape;
  if (name == "tiny-neox") shape.architecture = "qwen2";
  if (name == "tiny-yarn") shape.yarn = true;
  if (name == "tiny-factors") shape.factors = true;
  if (name == "tiny-narrow") shape.heads = 4;
  if (name == "tiny-mrope") shape.architecture = "qwen2vl";
  if (name == "tiny-window") shape.architecture = "olmo2";
  if (name == "8b") {
    shape.layers = 32, shape.embedding = 4096, shape.heads = 32, shape.keyHeads = 8, shape.feedForward = 14336;
    shape.vocabulary = 32000, shape.trainContext = 131072, shape.ropeBase = 500000, shape.type = GGML_TYPE_F16;
  } else if (name.rfind("tiny", 0) != 0) {
    fail("invalid_argument", "there is no shape " + name);
  }
  return shape;
}

void generateModel(const Shape & shape, const std::string & path) {
  const std::vector<Tensor> tensors = tensorsOf(shape);
  std::unique_ptr<gguf_context, void (*)(gguf_context *)> gguf(gguf_init_empty(), gguf_free);
  std::unique_ptr<ggml_context, void (*)(ggml_context *)> ggml(
    ggml_init({ggml_tensor_overhead() * (tensors.size() + 1), nullptr, true}), ggml_free);
  addParameters(gguf.get(), shape);
  addVocabulary(gguf.get(), shape.vocabulary);
  for (const Tensor & tensor : tensors) {
    ggml_tensor * made = tensor.rows == 1 ? ggml_new_tensor_1d(ggml.get(), tensor.type, tensor.columns)
                        : ggml_new_tensor_2d(ggml.get(), tensor.type, tensor.columns, tensor.rows);
    ggml_set_name(made, tensor.name.c_str());
    gguf_add_tensor(gguf.get(), made);
  }
  if (!gguf_write_to_file(gguf.get(), path.c_str(), true)) fail("model_failed", path + " could not be written");
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "ab"), std::fclose);
  if (file == nullptr) fail("model_failed", path + " could not be opened");
  const size_t alignment = gguf_get_alignment(gguf.get());
  for (size_t i = 0; i < tensors.size(); ++i) {
    writeRows(file.get(), tensors[i], shape.seed * 1000003 + i);
    const size_t size = ggml_row_size(tensors[i].type, tensors[i].columns) * static_cast<size_t>(tensors[i].rows);
    const std::vector<uint8_t> padding((alignment - size % alignment) % alignment, 0);
    if (!padding.empty()) std::fwrite(padding.data(), 1, padding.size(), file.get());
  }
  if (std::fflush(file.get()) != 0) fail("model_failed", path + " could not be written whole");
}

}  // namespace precedent
