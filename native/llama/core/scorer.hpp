// What the policies need to know of a prompt before it is served: who attends to whom, and which cached rows are wrong. A context of
// its own, flash attention off (only then are the weights there to be read), emptied before every question; it never serves.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "context.hpp"
#include "plan.hpp"

namespace precedent {

struct AttentionJob {
  std::vector<Token> tokens;
  std::vector<Link> links;  // of either flash-attention setting; tokens that they cover ask nothing, they are only attended to
  std::vector<int> starts;  // of the chunks, ascending, the first 0; the last ends with the prompt
  int layers = 0;           // the first so many; 0: all
};

// a(k, l): the weight that token l puts on the earlier token k, mean over heads.
struct AttentionScores {
  int layers = 0, chunks = 0;
  // layers x chunks x chunks. (i, j), i < j: sum of a(k, l) over k in chunk i, l in chunk j; (i, i): over k < l within i; else 0.
  std::vector<float> sums;
  // For each token l: the sum of a(k, l) over all k of earlier chunks, mean over layers.
  std::vector<float> before;
};

struct DeviationJob {
  std::vector<Token> tokens;
  std::vector<Link> links;
  int firstLayer = 1, endLayer = 2;  // layer 0 sees no other token: its rows never deviate
};

// For each token: squared distance between the linked row and the one that a full prefill computes, summed over the layers; 0 where
// no cache covers the token.
struct Deviations {
  std::vector<float> keys, values;
};

class Sequence;

class Scorer {
 public:
  // Throws what Context throws. Flash attention and sequences of the options are not looked at.
  Scorer(std::shared_ptr<Model> model, ContextOptions options);
  // One at a time; a second caller waits. Throw invalid_argument, context_full, blob_foreign, decode_failed.
  AttentionScores attention(const AttentionJob& job);
  Deviations deviations(const DeviationJob& job);
  int cells() const { return context_->cells(); }

 private:
  struct Pass;
  static bool observe(ggml_tensor* tensor, bool ask, void* data);
  void run(Sequence& sequence, Pass& pass);
  void check(const std::vector<Token>& tokens) const;

  std::mutex mutex_;
  std::unique_ptr<Context> context_;
  Pass* pass_ = nullptr;  // under way
};

}  // namespace precedent
