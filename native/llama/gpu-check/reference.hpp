// What the core must agree with, done by the plainest calls of llama.cpp and without any code of the core: prefill in full, chunks
// moved by llama.cpp itself (seq_add), runs recomputed by forking sequences (W1 of the note). Slow.
#pragma once

#include <vector>

#include "../core/context.hpp"

namespace precedent {

class Reference {
 public:
  Reference(const Model& model, const ContextOptions& options);
  ~Reference();
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  using Logits = std::vector<std::vector<float>>;  // a row for each wanted position

  // Ordinary prefill, cut into pieces at these positions; logits of `wanted`, ascending.
  Logits full(const std::vector<Token>& tokens, const std::vector<int>& wanted, const std::vector<int>& cuts = {});

  // Ordinary prefill up to `cut`, whose keys are then moved by `distance` positions and back, and of the rest.
  Logits movedAndBack(const std::vector<Token>& tokens, const std::vector<int>& wanted, int cut, int distance);

  // Ordinary prefill up to the last run, then the runs again as below: the same tokens, in other cells.
  Logits again(const std::vector<Token>& tokens, const std::vector<std::pair<int, int>>& runs, const std::vector<int>& wanted);

  // A prompt of chunks that were computed alone, moved to their places, then `runs` computed from left to right, each attending to
  // what stands before it; all of the prompt behind the last chunk is a run.
  struct Chunk {
    int position;
    std::vector<Token> tokens;
  };
  Logits linked(const std::vector<Token>& tokens, const std::vector<Chunk>& chunks, const std::vector<std::pair<int, int>>& runs,
                const std::vector<int>& wanted);

 private:
  void decode(const std::vector<Token>& tokens, int begin, int end, int sequence, const std::vector<int>& wanted, Logits& rows);

  Logits recompute(const std::vector<Token>& tokens, const std::vector<std::pair<int, int>>& runs, const std::vector<int>& wanted);

  llama_context* context_;
  int vocabulary_;
};

}  // namespace precedent
