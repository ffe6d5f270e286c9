#include "sequence.hpp"

#include "failure.hpp"

namespace precedent {

Sequence::Sequence(Context & context, std::vector<Token> tokens, Plan plan)
  : context_(context), tokens_(std::move(tokens)), plan_(std::move(plan)), now_(context.acquire()), later_(-1) {}

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
    later_ = context_.acquire();
    context_.link(later_, parts, anyAttention);
  }
  reach();
}

void Sequence::reach() {
  while (segment_ < plan_.segments.size()) {
    const Segment & segment = plan_.segments[segment_];
    if (segment.link < 0 && position_ < segment.end) return;
    if (segment.link >= 0) context_.share(later_, now_, segment.begin, segment.end);
    position_ = segment.end;
    ++segment_;
  }
  if (later_ >= 0) context_.release(later_);
  later_ = -1;
}

int Sequence::pending() const {
  if (segment_ < plan_.segments.size()) return plan_.segments[segment_].end - position_;
  return static_cast<int>(tokens_.size()) - position_;
}

void Sequence::computed(int count) {
  position_ += count;
  reach();
}

void Sequence::append(Token token) {
  require(pending() == 0, "a token was appended to a sequence that is not whole");
  tokens_.push_back(token);
}

Bytes Sequence::exportRange(int begin, int end) {
  require(begin >= 0 && begin < end && end <= position_, "a range can be exported when it is whole");
  return context_.exportRange(now_, begin, end, tokens_.data() + begin);
}

}  // namespace precedent
