#include "gguf-file.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>

#include "backend.hpp"
#include "failure.hpp"
#include "gguf.h"

namespace precedent {

namespace {

double numberAt(const void * data, gguf_type type, size_t i) {
  switch (type) {
    case GGUF_TYPE_UINT8: return static_cast<const uint8_t *>(data)[i];
    case GGUF_TYPE_INT8: return static_cast<const int8_t *>(data)[i];
    case GGUF_TYPE_UINT16: return static_cast<const uint16_t *>(data)[i];
    case GGUF_TYPE_INT16: return static_cast<const int16_t *>(data)[i];
    case GGUF_TYPE_UINT32: return static_cast<const uint32_t *>(data)[i];
    case GGUF_TYPE_INT32: return static_cast<const int32_t *>(data)[i];
    case GGUF_TYPE_FLOAT32: return static_cast<const float *>(data)[i];
    case GGUF_TYPE_UINT64: return static_cast<double>(static_cast<const uint64_t *>(data)[i]);
    case GGUF_TYPE_INT64: return static_cast<double>(static_cast<const int64_t *>(data)[i]);
    case GGUF_TYPE_FLOAT64: return static_cast<const double *>(data)[i];
    case GGUF_TYPE_BOOL: return static_cast<const int8_t *>(data)[i] != 0 ? 1 : 0;
    default: return 0;
  }
}

bool isNumber(gguf_type type) { return type != GGUF_TYPE_STRING && type != GGUF_TYPE_ARRAY; }

}  // namespace

GgufFile::GgufFile(const std::string & path) : path_(path) {
  FILE * file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail("model_missing", "there is no model at " + path);
  std::fclose(file);
  gguf_ = gguf_init_from_file(path.c_str(), {/*no_alloc*/ true, /*ctx*/ nullptr});
  if (gguf_ == nullptr) fail("model_failed", path + " is no GGUF file" + because());
  const long long key = gguf_find_key(gguf_, "general.architecture");
  if (key >= 0 && gguf_get_kv_type(gguf_, key) == GGUF_TYPE_STRING) architecture_ = gguf_get_val_str(gguf_, key);
}

GgufFile::~GgufFile() { gguf_free(gguf_); }

long long GgufFile::find(const std::string & key) const {
  return gguf_find_key(gguf_, (architecture_ + "." + key).c_str());
}

bool GgufFile::has(const std::string & key) const { return find(key) >= 0; }

double GgufFile::number(const std::string & key, double fallback) const {
  const long long id = find(key);
  if (id < 0) return fallback;
  const gguf_type type = gguf_get_kv_type(gguf_, id);
  if (isNumber(type)) return numberAt(gguf_get_val_data(gguf_, id), type, 0);
  if (type != GGUF_TYPE_ARRAY || !isNumber(gguf_get_arr_type(gguf_, id)) || gguf_get_arr_n(gguf_, id) == 0) return fallback;
  return numberAt(gguf_get_arr_data(gguf_, id), gguf_get_arr_type(gguf_, id), 0);
}

std::string GgufFile::text(const std::string & key, const std::string & fallback) const {
  const long long id = find(key);
  return id < 0 || gguf_get_kv_type(gguf_, id) != GGUF_TYPE_STRING ? fallback : gguf_get_val_str(gguf_, id);
}

bool GgufFile::uniform(const std::string & key) const {
  const long long id = find(key);
  if (id < 0 || gguf_get_kv_type(gguf_, id) != GGUF_TYPE_ARRAY) return true;
  const gguf_type type = gguf_get_arr_type(gguf_, id);
  if (!isNumber(type)) return true;
  const void * data = gguf_get_arr_data(gguf_, id);
  for (size_t i = 1; i < gguf_get_arr_n(gguf_, id); ++i)
    if (numberAt(data, type, i) != numberAt(data, type, 0)) return false;
  return true;
}

bool GgufFile::hasTensor(const std::string & name) const { return gguf_find_tensor(gguf_, name.c_str()) >= 0; }

std::vector<float> GgufFile::tensor(const std::string & name) const {
  const long long id = gguf_find_tensor(gguf_, name.c_str());
  if (id < 0) return {};
  if (gguf_get_tensor_type(gguf_, id) != GGML_TYPE_F32) fail("model_unsupported", name + " is not of type f32");
  std::vector<float> values(gguf_get_tensor_size(gguf_, id) / sizeof(float));
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path_.c_str(), "rb"), std::fclose);
  const long at = static_cast<long>(gguf_get_data_offset(gguf_) + gguf_get_tensor_offset(gguf_, id));
  if (file == nullptr || std::fseek(file.get(), at, SEEK_SET) != 0 ||
    std::fread(values.data(), sizeof(float), values.size(), file.get()) != values.size())
    fail("model_failed", path_ + " ends before " + name);
  return values;
}

}  // namespace precedent
