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
#include "shapes.hpp"

namespace precedent {

namespace {

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
