#include "sequence.hpp"

#include <algorithm>

#include "failure.hpp"

namespace precedent {

Sequence::Sequence(Context & context, std::vector<Token> tokens, Plan plan)
  : context_(context), tokens_(std::move(tokens)), plan_(std::move(plan)), scattered_(context.scattered()), now_(context.acquire()), later_(-1) {
  for (const Segment & segment : plan_.segments)
    for (int position = segment.begin; segment.link < 0 && position < segment.end; ++position) todo_.push_back(position);
}

Sequence::~Sequence() {
  context_.release(now_);
  if (later_ >= 0) context_.release(later_);
}

void Sequence::link(const std::vector<Link> & links, bool anyAttention) {
  std::vector<LinkPart> parts;
  for (const Segment & segment : plan_.segments) {
    if (segment.link < 0) continue;
    const Link & link = links[static_cast<size_t>(segment.link)];
    parts.push_back({link.blob, segment.begin - link.position, segment.end - segment.begin, segment.begin});
  }
  if (!parts.empty()) {
    if (!scattered_) later_ = context_.acquire();
    context_.link(scattered_ ? now_ : later_, parts, anyAttention);
  }
  reach();
}

void Sequence::reach() {
  position_ = next_ < todo_.size() ? todo_[next_] : static_cast<int>(tokens_.size());
  if (scattered_) return;
  for (; segment_ < plan_.segments.size() && plan_.segments[segment_].begin < position_; ++segment_) {
    const Segment & segment = plan_.segments[segment_];
    if (segment.link < 0 && position_ < segment.end) return;
    if (segment.link >= 0) context_.share(later_, now_, segment.begin, segment.end);
  }
  if (segment_ < plan_.segments.size()) return;
  if (later_ >= 0) context_.release(later_);
  later_ = -1;
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

Bytes Sequence::exportRange(int begin, int end) {
  require(begin >= 0 && begin < end && end <= position_, "a range can be exported when it is whole");
  return context_.exportRange(now_, begin, end, tokens_.data() + begin);
}

}  // namespace precedent
