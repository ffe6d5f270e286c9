// A GGUF model: loaded once, read by every context of it. All of it is constant after loading, so any thread may ask.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend.hpp"
#include "llama.h"
#include "rope.hpp"

namespace precedent {

using Token = llama_token;
using Fingerprint = std::array<uint8_t, 32>;

struct ModelOptions {
  std::string path;
  Fingerprint fingerprint{};  // SHA-256 of the file, computed by the caller
  std::string device = "cpu";  // cpu, auto, gpu or a name: chooseDevices
  int gpuLayers = -1;          // that are put there, from the last; split evenly where there are several devices. -1: all
  std::string backends;        // folder of the prebuilt libraries
  std::vector<std::string> libraries;  // of GPUs' backends
};

struct ModelFacts {
  std::string name, architecture, description, chatTemplate;
  int layers = 0, headDimension = 0, valueDimension = 0, heads = 0, keyHeads = 0, embedding = 0, vocabulary = 0, trainContext = 0;
  uint64_t parameters = 0, bytes = 0;
  Token bos = -1, eos = -1;
  bool addBos = false;
  int mostPositions = 1 << 24;       // that it has
  std::string unlinkable;            // why it serves without links; "": it takes them
  std::vector<std::string> devices;  // that it runs on
};

class Model {
public:
  // Throws model_missing, model_failed, device_missing; model_unsupported for what writes no text.
  static std::shared_ptr<Model> load(const ModelOptions & options);
  ~Model();
  Model(const Model &) = delete;
  Model & operator=(const Model &) = delete;

  const ModelFacts & facts() const { return facts_; }
  const Fingerprint & fingerprint() const { return fingerprint_; }
  llama_model * handle() const { return model_; }
  const llama_vocab * vocabulary() const { return vocabulary_; }
  // For a context of this size (LongRoPE has two tables). Throws model_unsupported.
  Rope rope(int contextTokens) const;
  // Not the CPU alone.
  bool onGpu() const { return !devices_.empty(); }
  // Whether all its devices compute flash attention over a cache of this type; a quantised one is never computed without.
  bool flashAttention(ggml_type type) const;

  // `special`: texts of control tokens become these tokens; otherwise they are text like any other. No BOS is added.
  std::vector<Token> tokenize(const std::string & text, bool special) const;
  // Bytes; a token may end in the middle of a character.
  std::string piece(Token token, bool special) const;
  std::string detokenize(const std::vector<Token> & tokens, bool special) const;
  bool isEnd(Token token) const { return llama_vocab_is_eog(vocabulary_, token); }
  // Throws invalid_argument for an id that is none.
  void checkTokens(const std::vector<Token> & tokens) const;

private:
  Model() = default;
  void readFacts();
  void guard() const;
  std::string findUnlinkable(const GgufFile & file) const;

  std::string path_;
  Fingerprint fingerprint_{};
  bool neox_ = false;
  std::vector<Device> devices_;
  ModelFacts facts_;
  llama_model * model_ = nullptr;
  const llama_vocab * vocabulary_ = nullptr;
};

}  // namespace precedent
