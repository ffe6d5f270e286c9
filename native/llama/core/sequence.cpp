#include "sequence.hpp"

#include <algorithm>

#include "failure.hpp"

namespace precedent {

Sequence::Sequence(Context & context, std::vector<Token> tokens, Plan plan)
  : context_(context), tokens_(std::move(tokens)), plan_(std::move(plan)), scattered_(context.scattered()), now_(context) {
  for (const Segment & segment : plan_.segments)
    for (int position = segment.begin; segment.link < 0 && position < segment.end; ++position) todo_.push_back(position);
}

void Sequence::place(const LinkPiece & piece) {
  if (!scattered_ && !later_.has_value()) later_.emplace(context_);
  context_.place(scattered_ ? now_ : *later_, piece);
}

void Sequence::link(const std::vector<Link> & links, bool anyAttention) {
  LinkPieces pieces(context_.cellFormat(), linkedParts(plan_, links), SIZE_MAX, anyAttention);
  for (LinkPiece piece; pieces.next(piece);) place(piece);
  start();
}

void Sequence::reach() {
  position_ = next_ < todo_.size() ? todo_[next_] : static_cast<int>(tokens_.size());
  if (scattered_) return;
  for (; segment_ < plan_.segments.size() && plan_.segments[segment_].begin < position_; ++segment_) {
    const Segment & segment = plan_.segments[segment_];
    if (segment.link < 0 && position_ < segment.end) return;
    if (segment.link >= 0) context_.share(*later_, now_, segment.begin, segment.end);
  }
  if (segment_ < plan_.segments.size()) return;
  later_.reset();
}

int Sequence::pending() const {
  const int left = static_cast<int>(todo_.size() - next_);
  return scattered_ || segment_ >= plan_.segments.size() ? left : std::min(left, plan_.segments[segment_].end - position_);
}

int Sequence::rankOf(int position) const {
  const auto first = todo_.begin() + static_cast<std::ptrdiff_t>(next_);
  return static_cast<int>(std::lower_bound(first, todo_.end(), position) - first);
}

void Sequence::computed(int count) {
  next_ += static_cast<size_t>(count);
  reach();
}

void Sequence::append(Token token) {
  require(pending() == 0, "a token was appended to a sequence that is not whole");
  todo_.push_back(static_cast<int>(tokens_.size()));
  tokens_.push_back(token);
}

Export Sequence::beginExport(int begin, int end) const {
  require(begin >= 0 && begin < end && end <= position_, "a range can be exported when it is whole");
  return context_.beginExport(begin, end, tokens_.data() + begin);
}

}  // namespace precedent
