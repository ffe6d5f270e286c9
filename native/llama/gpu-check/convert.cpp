#include "../core/backend.hpp"
#include "../core/failure.hpp"
#include "../core/gguf-file.hpp"
#include "generate.hpp"
#include "llama.h"

namespace precedent {

void convertModel(const std::string& from, const std::string& to, int type) {
  { const GgufFile file(from); }
  llama_model_quantize_params params = llama_model_quantize_default_params();
  params.ftype = type == GGML_TYPE_F32 ? LLAMA_FTYPE_ALL_F32 : type == GGML_TYPE_F16 ? LLAMA_FTYPE_MOSTLY_F16 : LLAMA_FTYPE_MOSTLY_Q8_0;
  params.allow_requantize = true;
  takeLog();
  if (llama_model_quantize(from.c_str(), to.c_str(), &params) != 0) fail("model_failed", from + " could not be converted" + because());
}

}  // namespace precedent
