// What is done with each token of a prompt: linked from a chunk cache, or computed. A token that no cache covers is computed; one that
// is covered is computed where the caller wants it recomputed. Runs are computed from left to right, each attending to all that stands
// before it, so a recomputed token sees fresh keys of recomputed tokens and linked keys of the others: exact causal semantics.
#pragma once

#include <memory>
#include <vector>

#include "blob.hpp"

namespace precedent {

struct Range {
  int begin, end;  // positions, end exclusive
};

struct Link {
  BlobView blob;
  int position;  // of its first token
  std::shared_ptr<const void> memory = nullptr;  // keeps the blob's bytes, where the caller does not
};

struct Segment {
  int begin, end;
  int link;  // index, or -1: computed
};

struct Plan {
  std::vector<Segment> segments;  // in order, covering the prompt
  int linked = 0;      // tokens that stay as linked
  int recomputed = 0;  // covered by a cache and computed all the same
  int prefilled = 0;   // covered by none
};

// `last`: the last token is computed whatever covers it, because its logits are wanted. Throws invalid_argument: links that overlap,
// lie outside the prompt, or hold other tokens than the prompt has there; ranges outside the prompt.
Plan makePlan(const std::vector<Token> & tokens, const std::vector<Link> & links, const std::vector<Range> & recompute, bool last);

}  // namespace precedent
