// Reads what llama.h does not tell of a GGUF file: RoPE's parameters and factors, head counts by layer.
#pragma once

#include <string>
#include <vector>

struct gguf_context;

namespace precedent {

class GgufFile {
public:
  // Throws model_missing, model_failed.
  explicit GgufFile(const std::string & path);
  ~GgufFile();
  GgufFile(const GgufFile &) = delete;
  GgufFile & operator=(const GgufFile &) = delete;

  const std::string & architecture() const { return architecture_; }
  // Keys are given without the architecture: "rope.freq_base". Any numeric type; the first of an array.
  double number(const std::string & key, double fallback) const;
  std::string text(const std::string & key, const std::string & fallback) const;
  bool has(const std::string & key) const;
  // False where an array holds different numbers; true for single values and missing keys.
  bool uniform(const std::string & key) const;
  bool hasTensor(const std::string & name) const;
  // A float32 tensor; empty when there is none of this name.
  std::vector<float> tensor(const std::string & name) const;

private:
  long long find(const std::string & key) const;

  std::string path_, architecture_;
  gguf_context * gguf_;
};

}  // namespace precedent
