#include "link-pieces.hpp"

#include <algorithm>

#include "failure.hpp"

namespace precedent {

std::vector<LinkPart> linkedParts(const Plan & plan, const std::vector<Link> & links) {
  std::vector<LinkPart> parts;
  for (const Segment & segment : plan.segments) {
    if (segment.link < 0) continue;
    const Link & link = links[static_cast<size_t>(segment.link)];
    parts.push_back({link.blob, segment.begin - link.position, segment.end - segment.begin, segment.begin});
  }
  return parts;
}

size_t rowsWithin(const StateLayout & layout, size_t bytes) {
  const size_t row = static_cast<size_t>(layout.layers) * (static_cast<size_t>(layout.keyRowBytes) + layout.valueRowBytes);
  return std::max<size_t>(1, bytes / std::max<size_t>(1, row));
}

LinkPieces::LinkPieces(CellFormat format, std::vector<LinkPart> parts, size_t pieceBytes, bool anyAttention)
  : format_(std::move(format)), parts_(std::move(parts)), pieceTokens_(rowsWithin(format_.layout, pieceBytes)) {
  for (const LinkPart & part : parts_) {
    part.blob.check(format_.blobs, anyAttention);
    require(part.from >= 0 && part.count > 0 && part.from + part.count <= part.blob.tokens() && part.position >= 0,
        "a part to be linked lies outside its chunk cache");
  }
}

bool LinkPieces::next(LinkPiece & piece) {
  if (part_ >= parts_.size()) return false;
  std::vector<LinkPart> taken;
  std::vector<int32_t> positions;
  while (part_ < parts_.size() && positions.size() < pieceTokens_) {
    const LinkPart & part = parts_[part_];
    const int count = static_cast<int>(std::min(static_cast<size_t>(part.count - row_), pieceTokens_ - positions.size()));
    taken.push_back({part.blob, part.from + row_, count, part.position + row_});
    for (int i = 0; i < count; ++i) positions.push_back(part.position + row_ + i);
    row_ += count;
    if (row_ < part.count) continue;
    row_ = 0;
    ++part_;
  }
  std::vector<Rotation> rotations;
  for (const LinkPart & part : taken)
    rotations.emplace_back(format_.rope, static_cast<int64_t>(part.position) - part.blob.header().first - part.from);
  StateWriter state(format_.layout, positions, piece.state);
  const size_t keyRow = format_.layout.keyRowBytes, valueRow = format_.layout.valueRowBytes;
  for (int layer = 0; layer < static_cast<int>(format_.layout.layers); ++layer) {
    int first = 0;
    uint8_t * keys = state.keys(layer);
    for (size_t i = 0; i < taken.size(); ++i) {
      const LinkPart & part = taken[i];
      const size_t from = static_cast<size_t>(part.from);
      format_.keys.move(rotations[i], part.blob.keys(layer) + from * keyRow, keys + static_cast<size_t>(first) * keyRow, part.count);
      state.putValues(layer, first, part.count, part.blob.values(layer) + from * valueRow);
      first += part.count;
    }
  }
  piece.bytes = state.size();
  piece.begin = positions.front();
  piece.end = positions.back() + 1;
  return true;
}

}  // namespace precedent
