#include "context.hpp"

#include <algorithm>

#include "assertions.hpp"
#include "failure.hpp"
#include "refusals.hpp"

namespace precedent {

namespace {

constexpr int mostSequences = 120;  // LLAMA_MAX_SEQ is 256, and each takes two

void checkOptions(const Model & model, const ContextOptions & options) {
  require(options.contextTokens >= 1 && options.contextTokens <= (1 << 24), "contextTokens must be 1 to 16777216");
  require(options.sequences >= 1 && options.sequences <= mostSequences, "sequences must be 1 to 120");
  require(options.threads >= 1 && options.threads <= 512, "threads must be 1 to 512");
  require(options.batchTokens >= options.sequences && options.batchTokens <= 8192, "batchTokens must be sequences to 8192");
  const bool known = options.kvType == GGML_TYPE_F32 || options.kvType == GGML_TYPE_F16 || options.kvType == GGML_TYPE_Q8_0;
  require(known, "the KV type must be f32, f16 or q8_0");
  if (!ggml_is_quantized(options.kvType)) return;
  require(options.flashAttention, refusal::quantisedValues);
  const ModelFacts & facts = model.facts();
  if (!facts.unlinkable.empty()) return;
  if (facts.headDimension % 64 != 0 || facts.valueDimension % 64 != 0)
    fail("model_unsupported", refusal::narrowHeads + std::to_string(facts.headDimension));
}

}  // namespace

Context::Context(std::shared_ptr<Model> model, const ContextOptions & options)
  : model_(std::move(model)), options_(options), unlinkable_(model_->facts().unlinkable) {
  checkOptions(*model_, options_);
  options_.contextTokens = (options.contextTokens + 255) / 256 * 256;
  create();
  format_.fingerprint = model_->fingerprint();
  format_.kvType = static_cast<uint32_t>(options_.kvType);
  format_.flashAttention = options_.flashAttention ? 1 : 0;
  // On this thread alone, so that an assertion about a damaged model throws.
  llama_set_n_threads(context_, 1, 1);
  try {
    const AssertionsThrow assertions;
    tryOut();
  } catch (...) {
    llama_free(context_);
    throw;
  }
  llama_set_n_threads(context_, options_.threads, options_.threads);
}

void Context::tryOut() {
  const SequenceId sequence(*this);
  decode({{model_->facts().vocabulary / 2, 0, sequence, false}});
  remove(sequence, 0, -1);
  if (unlinkable_.empty()) try {
      rope_ = model_->rope(options_.contextTokens);
      keys_.emplace(options_.kvType, model_->facts().keyHeads, model_->facts().headDimension);
      probe(sequence);
      scattered_ = options_.scattered && probeScattered(sequence);
    } catch (const Failure & failure) {
      unlinkable_ = failure.what();
    }
  clear();
}

Context::~Context() { llama_free(context_); }

void Context::create() {
  llama_context_params params = llama_context_default_params();
  // Beside that of the prompt one for linked cells, and one for a cache that is taken. Recurrent models keep a state for each.
  const int sequenceIds = unlinkable_.empty() ? 2 * options_.sequences + 1 : options_.sequences;
  params.n_ctx = static_cast<uint32_t>(options_.contextTokens);
  params.n_batch = params.n_ubatch = static_cast<uint32_t>(std::min(options_.batchTokens, options_.contextTokens));
  params.n_seq_max = static_cast<uint32_t>(sequenceIds);
  params.n_threads = params.n_threads_batch = options_.threads;
  params.flash_attn_type = options_.flashAttention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = options_.kvType;
  params.kv_unified = true;
  params.swa_full = false;  // windows are for models without links only
  params.offload_kqv = params.op_offload = model_->onGpu();
  params.cb_eval = options_.callback;
  params.cb_eval_user_data = options_.callbackData;
  takeLog();
  {
    const AssertionsThrow assertions;
    context_ = llama_init_from_model(model_->handle(), params);
  }
  if (context_ == nullptr) fail("context_failed", "no context of " + std::to_string(options_.contextTokens) + " tokens" + because());
  if (llama_get_memory(context_) == nullptr) {
    llama_free(context_);
    fail("model_unsupported", "it keeps nothing of a prompt: an encoder does not write text");
  }
  options_.batchTokens = static_cast<int>(llama_n_batch(context_));
  cells_ = static_cast<int>(llama_n_ctx(context_));
  for (int sequence = sequenceIds; sequence-- > 0;) freeSequences_.push_back(sequence);
}

void Context::requireLinkable() const {
  if (!unlinkable_.empty()) fail("model_unsupported", "prompts of this model can't be linked: " + unlinkable_);
}

// Linked in is not yet called: that is up to the loader.
bool Context::probeScattered(int sequence) {
  const Token token = model_->facts().vocabulary / 2;
  decode({{token, 5, sequence, false}});
  try {
    decode({{token, 2, sequence, false}, {token, 4, sequence, false}, {token, 6, sequence, false}});
  } catch (const Failure &) {
    return false;
  }
  return true;
}

SequenceId::SequenceId(Context & context) : context_(context), id_(context.freeSequences_.empty() ? -1 : context.freeSequences_.back()) {
  if (id_ < 0) fail("context_full", "all sequences are in use");
  context.freeSequences_.pop_back();
}

SequenceId::~SequenceId() {
  context_.remove(id_, 0, -1);
  context_.freeSequences_.push_back(id_);  // has room: it was there before
}

void Context::decode(const std::vector<BatchToken> & batch) {
  const int count = static_cast<int>(batch.size());
  require(count > 0 && count <= options_.batchTokens, "a batch has 1 to " + std::to_string(options_.batchTokens) + " tokens");
  std::vector<Token> tokens(batch.size());
  std::vector<llama_pos> positions(batch.size());
  std::vector<int32_t> numbers(batch.size(), 1);
  std::vector<llama_seq_id> sequences(batch.size());
  std::vector<llama_seq_id *> pointers(batch.size());
  std::vector<int8_t> wanted(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    tokens[i] = batch[i].token;
    positions[i] = batch[i].position;
    sequences[i] = batch[i].sequence;
    pointers[i] = &sequences[i];
    wanted[i] = batch[i].logits ? 1 : 0;
  }
  takeLog();
  const int result = llama_decode(
    context_, {count, tokens.data(), nullptr, positions.data(), numbers.data(), pointers.data(), wanted.data()});
  if (result == 0) return;
  if (result == 1) fail("context_full", "no free cells for " + std::to_string(count) + " tokens");
  fail("decode_failed", "llama_decode gave " + std::to_string(result) + because());
}

const float * Context::logits(int i) const {
  const float * found = llama_get_logits_ith(context_, i);
  if (found == nullptr) fail("decode_failed", "llama.cpp has no logits of token " + std::to_string(i));
  return found;
}

void Context::share(int from, int to, int begin, int end) {
  if (begin < end) llama_memory_seq_cp(llama_get_memory(context_), from, to, begin, end);
}

void Context::remove(int sequence, int begin, int end) { llama_memory_seq_rm(llama_get_memory(context_), sequence, begin, end); }

void Context::clear() { llama_memory_clear(llama_get_memory(context_), false); }

// llama.cpp empties a sequence that it is given a state of.
void Context::place(int sequence, const LinkPiece & piece) {
  requireLinkable();
  const SequenceId placed(*this);
  takeLog();
  if (llama_state_seq_set_data(context_, piece.state.data(), piece.bytes, placed) != piece.bytes)
    fail("context_full", "no free cells to link positions " + std::to_string(piece.begin) + " to " + std::to_string(piece.end) + because());
  share(placed, sequence, piece.begin, piece.end);
}

void Context::readState(int sequence, size_t cells) {
  const size_t size = layout_.bytes(cells);
  if (scratch_.size() < size) scratch_.resize(size);
  if (llama_state_seq_get_data(context_, scratch_.data(), size, sequence) != size)
    fail("decode_failed", "a sequence does not hold the " + std::to_string(cells) + " cells that it should" + because());
}

Export Context::beginExport(int begin, int end, const Token * tokens) const {
  requireLinkable();
  require(begin >= 0 && begin < end, "an empty range can't be exported");
  return {createBlob(format_, tokens, end - begin, begin), begin, end, begin};
}

bool Context::exportPiece(int sequence, Export & taken, size_t pieceBytes) {
  const int all = taken.end - taken.begin, begin = taken.next;
  const int count = static_cast<int>(std::min(static_cast<size_t>(taken.end - begin), rowsWithin(layout_, pieceBytes)));
  const SequenceId range(*this);
  share(sequence, range, begin, begin + count);
  readState(range, static_cast<size_t>(count));
  const StateReader state(layout_, scratch_.data(), layout_.bytes(static_cast<size_t>(count)));
  if (state.position(0) != begin || state.position(count - 1) != begin + count - 1)
    fail("decode_failed", "a sequence does not hold positions " + std::to_string(begin) + " to " + std::to_string(begin + count));
  const size_t before = static_cast<size_t>(begin - taken.begin);
  for (int layer = 0; layer < static_cast<int>(layout_.layers); ++layer) {
    state.copyKeys(layer, blobKeys(taken.blob, format_, all, layer) + before * layout_.keyRowBytes);
    state.copyValues(layer, blobValues(taken.blob, format_, all, layer) + before * layout_.valueRowBytes);
  }
  taken.next += count;
  return taken.next == taken.end;
}

}  // namespace precedent
