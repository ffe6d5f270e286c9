// Linked cells as states that llama.cpp takes, a piece of bounded size at a time. Touches no context, so that any thread can prepare
// pieces while another one decodes.
#pragma once

#include <cstdint>
#include <vector>

#include "blob.hpp"
#include "key-mover.hpp"
#include "plan.hpp"
#include "rope.hpp"
#include "state.hpp"

namespace precedent {

// Rows [from, from + count) of a chunk cache, to stand at `position` and after.
struct LinkPart {
  BlobView blob;
  int from, count, position;
};

// The parts that a plan leaves linked, ascending.
std::vector<LinkPart> linkedParts(const Plan & plan, const std::vector<Link> & links);

// What the cells of a context look like.
struct CellFormat {
  BlobFormat blobs;
  StateLayout layout;
  Rope rope;
  KeyMover keys;
};

struct LinkPiece {
  std::vector<uint8_t> state;  // its first `bytes`; kept, because fresh memory costs more than the copy
  size_t bytes = 0;
  int begin = 0, end = 0;      // positions; between those of two parts there may be gaps
};

class LinkPieces {
public:
  // The blobs must last; parts ascend. Throws blob_foreign, invalid_argument. `anyAttention`: for scoring.
  LinkPieces(CellFormat format, std::vector<LinkPart> parts, size_t pieceBytes, bool anyAttention = false);
  // At most pieceBytes, but one token at least. False when all were given.
  bool next(LinkPiece & piece);

private:
  CellFormat format_;
  std::vector<LinkPart> parts_;
  size_t pieceTokens_, part_ = 0;
  int row_ = 0;  // of the part, the next
};

// Rows of a state of `layout` that are at most so many bytes; 1 at least.
size_t rowsWithin(const StateLayout & layout, size_t bytes);

}  // namespace precedent
