#include "reference.hpp"

#include <algorithm>

#include "../core/failure.hpp"

namespace precedent {

namespace {
constexpr int whole = 0, fork = 1, alone = 2;  // sequences
}  // namespace

Reference::Reference(const Model& model, const ContextOptions& options) : vocabulary_(model.facts().vocabulary) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(options.contextTokens);
  params.n_batch = params.n_ubatch = static_cast<uint32_t>(options.batchTokens);
  params.n_seq_max = 4;
  params.n_threads = params.n_threads_batch = options.threads;
  params.flash_attn_type = options.flashAttention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = options.kvType;
  params.kv_unified = true;
  context_ = llama_init_from_model(model.handle(), params);
  if (context_ == nullptr) fail("context_failed", "no reference context" + because());
}

Reference::~Reference() { llama_free(context_); }

void Reference::decode(const std::vector<Token>& tokens, int begin, int end, int sequence, const std::vector<int>& wanted, Logits& rows) {
  const int most = static_cast<int>(llama_n_batch(context_));
  for (int start = begin; start < end; start += most) {
    const int stop = std::min(end, start + most);
    llama_batch batch = llama_batch_init(stop - start, 0, 1);
    for (int position = start; position < stop; ++position) {
      const int i = batch.n_tokens++;
      batch.token[i] = tokens[static_cast<size_t>(position)];
      batch.pos[i] = position;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = sequence;
      batch.logits[i] = std::binary_search(wanted.begin(), wanted.end(), position) ? 1 : 0;
    }
    const int result = llama_decode(context_, batch);
    for (int position = start; position < stop && result == 0; ++position) {
      if (batch.logits[position - start] == 0) continue;
      const float* row = llama_get_logits_ith(context_, position - start);
      rows.emplace_back(row, row + vocabulary_);
    }
    llama_batch_free(batch);
    if (result != 0) fail("decode_failed", "the reference could not decode" + because());
  }
}

Reference::Logits Reference::full(const std::vector<Token>& tokens, const std::vector<int>& wanted, const std::vector<int>& cuts) {
  llama_memory_clear(llama_get_memory(context_), false);
  Logits rows;
  int begin = 0;
  for (const int cut : cuts) {
    decode(tokens, begin, cut, 0, wanted, rows);
    begin = cut;
  }
  decode(tokens, begin, static_cast<int>(tokens.size()), 0, wanted, rows);
  return rows;
}

Reference::Logits Reference::movedAndBack(const std::vector<Token>& tokens, const std::vector<int>& wanted, int cut, int distance) {
  llama_memory_t memory = llama_get_memory(context_);
  llama_memory_clear(memory, false);
  Logits ignored, rows;
  decode(tokens, 0, cut, whole, {}, ignored);
  llama_memory_seq_add(memory, whole, 0, -1, distance);
  // llama.cpp moves keys with the next batch, whichever sequence it is of.
  decode(tokens, 0, 1, alone, {}, ignored);
  llama_memory_seq_rm(memory, alone, -1, -1);
  llama_memory_seq_add(memory, whole, 0, -1, -distance);
  decode(tokens, cut, static_cast<int>(tokens.size()), whole, wanted, rows);
  return rows;
}

Reference::Logits Reference::linked(const std::vector<Token>& tokens, const std::vector<Chunk>& chunks,
                                    const std::vector<std::pair<int, int>>& runs, const std::vector<int>& wanted) {
  llama_memory_t memory = llama_get_memory(context_);
  llama_memory_clear(memory, false);
  Logits ignored;
  for (const Chunk& chunk : chunks) {
    decode(chunk.tokens, 0, static_cast<int>(chunk.tokens.size()), alone, {}, ignored);
    llama_memory_seq_add(memory, alone, 0, -1, chunk.position);
    llama_memory_seq_cp(memory, alone, whole, -1, -1);
    llama_memory_seq_rm(memory, alone, -1, -1);
  }
  return recompute(tokens, runs, wanted);
}

Reference::Logits Reference::again(const std::vector<Token>& tokens, const std::vector<std::pair<int, int>>& runs,
                                   const std::vector<int>& wanted) {
  llama_memory_clear(llama_get_memory(context_), false);
  Logits ignored;
  decode(tokens, 0, runs.back().first, whole, {}, ignored);
  return recompute(tokens, runs, wanted);
}

Reference::Logits Reference::recompute(const std::vector<Token>& tokens, const std::vector<std::pair<int, int>>& runs,
                                       const std::vector<int>& wanted) {
  llama_memory_t memory = llama_get_memory(context_);
  Logits rows;
  for (const auto& [begin, end] : runs) {
    llama_memory_seq_cp(memory, whole, fork, 0, begin);
    llama_memory_seq_rm(memory, whole, begin, end);
    decode(tokens, begin, end, fork, wanted, rows);
    llama_memory_seq_cp(memory, fork, whole, begin, end);
    llama_memory_seq_rm(memory, fork, -1, -1);
  }
  return rows;
}

}  // namespace precedent
