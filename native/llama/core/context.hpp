// One llama.cpp context: a unified cache of cells that several sequences share. Owned by one thread. Everything that goes into
// llama.cpp from here on is checked first, because llama.cpp aborts the process on most of what it does not expect.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob.hpp"
#include "link-pieces.hpp"
#include "model.hpp"

namespace precedent {

struct ContextOptions {
  int contextTokens = 4096;  // cells, shared by all sequences; rounded up to a multiple of 256
  int sequences = 8;         // at a time; each takes two of llama.cpp's sequence ids where links are taken
  int threads = 1;
  bool flashAttention = true;
  ggml_type kvType = GGML_TYPE_F16;  // f32, f16, or q8_0 (with flash attention only)
  int batchTokens = 512;     // most tokens of one decode
  bool scattered = true;     // where llama.cpp takes scattered positions
  ggml_backend_sched_eval_callback callback = nullptr;  // sees every node; for scoring, never when serving
  void * callbackData = nullptr;
};

struct BatchToken {
  Token token;
  int position, sequence;
  bool logits;
};

class Context;

// A sequence id of a context, given back at the end with all that the sequence holds. Throws context_full when none is free.
class SequenceId {
public:
  explicit SequenceId(Context & context);
  ~SequenceId();
  SequenceId(const SequenceId &) = delete;
  SequenceId & operator=(const SequenceId &) = delete;
  operator int() const { return id_; }

private:
  Context & context_;
  const int id_;
};

// A range of a sequence that becomes a chunk cache, a piece at a time.
struct Export {
  Bytes blob;
  int begin, end, next;
};

class Context {
public:
  // Throws invalid_argument, context_failed, model_unsupported (settings that the model can't have). For links it costs a few
  // one-token decodes: it reads the layout of the cache and shows that moving a key by our RoPE table gives the key that the model
  // computes there. Where it does not, the context serves without links.
  Context(std::shared_ptr<Model> model, const ContextOptions & options);
  ~Context();
  Context(const Context &) = delete;
  Context & operator=(const Context &) = delete;

  Model & model() const { return *model_; }
  const ContextOptions & options() const { return options_; }
  // Why this context takes no links and gives no caches, or "".
  const std::string & unlinkable() const { return unlinkable_; }
  // Throws model_unsupported where it takes no links.
  void requireLinkable() const;
  // Whether a batch may hold any positions of a sequence, in ascending order, before, between and behind those that it has: so with
  // the llama-batch.cpp of scattered.patch linked in (Linux). llama.cpp itself wants them to follow what the sequence holds.
  bool scattered() const { return scattered_; }
  // Without layers where it takes no links.
  const BlobFormat & format() const { return format_; }
  const Rope & rope() const { return rope_; }
  KeyMover & keys() { return *keys_; }
  // Where it takes links.
  CellFormat cellFormat() const { return {format_, layout_, rope_, *keys_}; }
  llama_context * handle() const { return context_; }
  int cells() const { return cells_; }

  // Computes them together. Positions of a sequence must follow what it holds, if not scattered. Throws context_full, decode_failed.
  void decode(const std::vector<BatchToken> & batch);
  // Logits of the i-th token of the last batch, which must have asked for them; facts().vocabulary
  // floats.
  const float * logits(int i) const;

  // Cells of `from` at positions [begin, end) belong to `to` as well; nothing is copied.
  void share(int from, int to, int begin, int end);
  void remove(int sequence, int begin, int end);
  void clear();

  // Adds the cells of a piece to a sequence. Throws context_full.
  void place(int sequence, const LinkPiece & piece);
  // Cells [begin, end) of a sequence as a chunk cache; `tokens` are those of the range. Taken by exportPiece().
  Export beginExport(int begin, int end, const Token * tokens) const;
  // At most so many bytes, but one token at least; whether that was the last.
  bool exportPiece(int sequence, Export & taken, size_t pieceBytes);

private:
  friend class SequenceId;
  void create();
  // Computes a token, which shows that the model does; then probes what links need.
  void tryOut();
  void probe(int sequence);
  bool probeScattered(int sequence);
  void readState(int sequence, size_t cells);

  std::shared_ptr<Model> model_;
  ContextOptions options_;
  Rope rope_;
  std::optional<KeyMover> keys_;
  llama_context * context_ = nullptr;
  int cells_ = 0;
  bool scattered_ = false;
  StateLayout layout_;
  BlobFormat format_;
  std::string unlinkable_;
  std::vector<int> freeSequences_;
  std::vector<uint8_t> scratch_;  // a state that is read; kept, because fresh memory costs more than the copy
};

}  // namespace precedent
