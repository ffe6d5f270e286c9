#include "model.hpp"

#include "assertions.hpp"
#include "failure.hpp"
#include "gguf-file.hpp"
#include "refusals.hpp"

namespace precedent {

namespace {

std::string metadata(const llama_model * model, const char * key) {
  char value[256];
  return llama_model_meta_val_str(model, key, value, sizeof(value)) < 0 ? "" : value;
}

}  // namespace

std::shared_ptr<Model> Model::load(const ModelOptions & options) {
  const std::vector<Device> found = loadBackends(options.backends, options.libraries);
  const AssertionsThrow assertions;
  std::shared_ptr<Model> self(new Model());
  self->path_ = options.path;
  self->fingerprint_ = options.fingerprint;
  self->devices_ = chooseDevices(found, options.device);
  // First, so that what no context can serve is refused before gigabytes are read.
  { const GgufFile file(options.path); }

  // Null-terminated, as llama.cpp wants it; only the terminator is the CPU alone.
  std::vector<ggml_backend_dev_t> handles;
  for (const Device & device : self->devices_) handles.push_back(device.handle);
  handles.push_back(nullptr);
  const int most = 1 << 20;
  llama_model_params params = llama_model_default_params();
  params.devices = handles.data();
  params.n_gpu_layers = !self->onGpu() ? 0 : options.gpuLayers < 0 ? most : options.gpuLayers;
  params.split_mode = LLAMA_SPLIT_MODE_LAYER;
  takeLog();
  self->model_ = llama_model_load_from_file(options.path.c_str(), params);
  if (self->model_ == nullptr) fail("model_failed", options.path + " does not load" + because());
  self->vocabulary_ = llama_model_get_vocab(self->model_);
  self->guard();
  self->readFacts();
  const auto name = [&](const Device & device) { self->facts_.devices.push_back(device.name + " (" + device.description + ")"); };
  for (const Device & device : self->devices_) name(device);
  for (const Device & device : found)
    if (device.kind == "cpu" && params.n_gpu_layers <= self->facts_.layers) name(device);
  return self;
}

Model::~Model() { llama_model_free(model_); }

// What can't answer at all.
void Model::guard() const {
  const auto refuse = [this](const std::string & why) { fail("model_unsupported", path_ + ": " + why); };
  if (llama_model_is_diffusion(model_)) refuse(refusal::diffusion);
  if (llama_model_has_encoder(model_) || GgufFile(path_).number("attention.causal", 1) == 0) refuse(refusal::encoder);
  if (llama_vocab_type(vocabulary_) == LLAMA_VOCAB_TYPE_NONE) refuse(refusal::vocabulary);
}

// Why no chunk cache can be moved, or "".
std::string Model::findUnlinkable(const GgufFile & file) const {
  if (llama_model_is_recurrent(model_) || llama_model_is_hybrid(model_)) return refusal::recurrent;
  if (llama_model_n_swa(model_) > 0) return refusal::window;
  const llama_rope_type type = llama_model_rope_type(model_);
  if (type == LLAMA_ROPE_TYPE_NONE) return refusal::positions;
  if (type != LLAMA_ROPE_TYPE_NORM && type != LLAMA_ROPE_TYPE_NEOX) return refusal::mrope;
  if (file.has("attention.key_length_mla")) return refusal::latent;
  for (const char * key : {"attention.head_count_kv", "attention.head_count"})
    if (!file.uniform(key)) return key + std::string(refusal::uneven);
  if (facts_.heads <= 0 || facts_.keyHeads <= 0) return refusal::headless;
  try {
    rope(facts_.trainContext);
  } catch (const Failure & failure) {
    return failure.what();
  }
  return "";
}

void Model::readFacts() {
  const GgufFile file(path_);
  ModelFacts & facts = facts_;
  facts.name = metadata(model_, "general.name");
  facts.architecture = file.architecture();
  char description[128];
  llama_model_desc(model_, description, sizeof(description));
  facts.description = description;
  const char * chatTemplate = llama_model_chat_template(model_, nullptr);
  facts.chatTemplate = chatTemplate == nullptr ? "" : chatTemplate;
  facts.layers = llama_model_n_layer(model_);
  facts.heads = llama_model_n_head(model_);
  facts.keyHeads = llama_model_n_head_kv(model_);
  facts.embedding = llama_model_n_embd(model_);
  const int usual = facts.heads > 0 ? facts.embedding / facts.heads : 0;
  facts.headDimension = static_cast<int>(file.number("attention.key_length", usual));
  facts.valueDimension = static_cast<int>(file.number("attention.value_length", usual));
  facts.vocabulary = llama_vocab_n_tokens(vocabulary_);
  facts.trainContext = llama_model_n_ctx_train(model_);
  facts.parameters = llama_model_n_params(model_);
  facts.bytes = llama_model_size(model_);
  facts.bos = llama_vocab_bos(vocabulary_);
  facts.eos = llama_vocab_eos(vocabulary_);
  facts.addBos = llama_vocab_get_add_bos(vocabulary_);
  neox_ = llama_model_rope_type(model_) == LLAMA_ROPE_TYPE_NEOX;
  // llama.cpp aborts when a position has no row in a learned table.
  if (file.hasTensor("position_embd.weight")) facts.mostPositions = facts.trainContext;
  facts.unlinkable = findUnlinkable(file);
}

bool Model::flashAttention(ggml_type type) const {
  const int64_t heads = facts_.heads, keyHeads = facts_.keyHeads, cells = 256, tokens = 32;
  const int64_t width = facts_.headDimension, valueWidth = facts_.valueDimension;
  if (ggml_is_quantized(type) || keyHeads <= 0 || heads % keyHeads != 0 || width <= 0 || valueWidth <= 0) return true;
  const std::unique_ptr<ggml_context, void (*)(ggml_context *)> context(ggml_init({ggml_tensor_overhead() * 8, nullptr, true}), ggml_free);
  ggml_context * made = context.get();
  ggml_tensor * queries = ggml_new_tensor_3d(made, GGML_TYPE_F32, width, tokens, heads);
  ggml_tensor * keys = ggml_new_tensor_3d(made, type, width, cells, keyHeads);
  ggml_tensor * values = ggml_new_tensor_3d(made, type, valueWidth, cells, keyHeads);
  ggml_tensor * mask = ggml_new_tensor_2d(made, GGML_TYPE_F16, cells, tokens);
  ggml_tensor * attention = ggml_flash_attn_ext(made, queries, keys, values, mask, 1, 0, 0);
  ggml_prec_set_acc(attention, GGML_PREC_F32);
  for (const Device & device : devices_)
    if (!ggml_backend_dev_supports_op(device.handle, attention)) return false;
  return true;
}

Rope Model::rope(int contextTokens) const {
  return readRope(GgufFile(path_), neox_, facts_.headDimension, facts_.trainContext, contextTokens);
}

std::vector<Token> Model::tokenize(const std::string & text, bool special) const {
  if (text.empty()) return {};
  std::vector<Token> tokens(text.size() + 16);
  const int length = static_cast<int>(text.size());
  int count = llama_tokenize(vocabulary_, text.data(), length, tokens.data(), static_cast<int>(tokens.size()), false, special);
  if (count < 0) {
    require(count != INT32_MIN, "the text is too long to be tokenised");
    tokens.resize(static_cast<size_t>(-count));
    count = llama_tokenize(vocabulary_, text.data(), length, tokens.data(), static_cast<int>(tokens.size()), false, special);
  }
  tokens.resize(static_cast<size_t>(count < 0 ? 0 : count));
  return tokens;
}

std::string Model::piece(Token token, bool special) const {
  std::string text(32, '\0');
  int length = llama_token_to_piece(vocabulary_, token, text.data(), static_cast<int>(text.size()), 0, special);
  if (length < 0) {
    text.resize(static_cast<size_t>(-length));
    length = llama_token_to_piece(vocabulary_, token, text.data(), static_cast<int>(text.size()), 0, special);
  }
  text.resize(static_cast<size_t>(length < 0 ? 0 : length));
  return text;
}

std::string Model::detokenize(const std::vector<Token> & tokens, bool special) const {
  checkTokens(tokens);
  std::string text;
  for (const Token token : tokens) text += piece(token, special);
  return text;
}

void Model::checkTokens(const std::vector<Token> & tokens) const {
  for (const Token token : tokens)
    require(token >= 0 && token < facts_.vocabulary,
        "there is no token " + std::to_string(token) + " in a vocabulary of " + std::to_string(facts_.vocabulary));
}

}  // namespace precedent
