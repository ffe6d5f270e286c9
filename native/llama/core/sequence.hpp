// Carries out a plan in a context. Two of llama.cpp's sequences are used: `now` holds the prompt from its start without a gap, `later`
// the linked cells that are not reached yet. Computing a run appends to `now`, as llama.cpp wants it, and linked cells move over when
// it has reached them (cells are shared, so nothing is copied). At every moment `now` is an ordinary sequence: what several requests
// compute next goes into one batch. Rows that will be recomputed are never put into the cache, so nothing can read a stale one.
#pragma once

#include <optional>
#include <vector>

#include "context.hpp"
#include "plan.hpp"

namespace precedent {

class Sequence {
public:
  // The plan must be of these tokens. Throws context_full.
  Sequence(Context & context, std::vector<Token> tokens, Plan plan);

  // First all pieces of linkedParts(plan), in order, then start().
  void place(const LinkPiece & piece);
  void start() { reach(); }
  // Both at once, for one that waits for nothing. Throws context_full, blob_foreign.
  void link(const std::vector<Link> & links, bool anyAttention = false);
  // Tokens that can be computed in the next batch; 0 when all are there.
  int pending() const;
  // Which of the pending tokens stands at this position, or where it would.
  int rankOf(int position) const;
  const std::vector<Token> & tokens() const { return tokens_; }
  const Plan & plan() const { return plan_; }
  // The next `count` tokens; wantsLogits is asked with positions.
  template <typename WantsLogits>
  void add(std::vector<BatchToken> & batch, int count, WantsLogits wantsLogits) const {
    for (int i = 0; i < count; ++i) {
      const int position = todo_[next_ + static_cast<size_t>(i)];
      batch.push_back({tokens_[static_cast<size_t>(position)], position, now_, wantsLogits(position)});
    }
  }
  // The batch with them was decoded.
  void computed(int count);
  // One more token at the end, to be computed next. All before it must be there.
  void append(Token token);
  Export beginExport(int begin, int end) const;
  bool exportPiece(Export & taken, size_t pieceBytes) { return context_.exportPiece(now_, taken, pieceBytes); }

private:
  void reach();

  Context & context_;
  std::vector<Token> tokens_;
  Plan plan_;
  bool scattered_;
  SequenceId now_;
  std::optional<SequenceId> later_;
  std::vector<int> todo_;  // positions that are computed, ascending
  size_t next_ = 0;        // of them
  size_t segment_ = 0;
  int position_ = 0;       // all before it are in `now`; scattered: of the plan's end, once all is there
};

}  // namespace precedent
