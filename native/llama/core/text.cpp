#include "text.hpp"

#include <algorithm>
#include <cstdint>

namespace precedent {

namespace {

constexpr const char * replacement = "\xEF\xBF\xBD";

// Bytes of the character that starts with `lead`, 0 when none does.
size_t lengthOf(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// Whether a second byte may follow this lead: no overlong forms, surrogates, or code points beyond U+10FFFF.
bool fits(uint8_t lead, uint8_t second) {
  if (second < 0x80 || second > 0xBF) return false;
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second <= 0x9F;
  if (lead == 0xF0) return second >= 0x90;
  if (lead == 0xF4) return second <= 0x8F;
  return true;
}

}  // namespace

std::string Utf8::push(const std::string & bytes) {
  held_ += bytes;
  std::string whole;
  size_t at = 0;
  while (at < held_.size()) {
    const uint8_t lead = static_cast<uint8_t>(held_[at]);
    const size_t length = lengthOf(lead);
    size_t good = length == 0 ? 0 : 1;
    while (good > 0 && good < length && at + good < held_.size()) {
      const uint8_t next = static_cast<uint8_t>(held_[at + good]);
      if (good == 1 ? !fits(lead, next) : (next & 0xC0) != 0x80) break;
      ++good;
    }
    if (length != 0 && good == length)
      whole.append(held_, at, length);
    else if (length != 0 && at + good == held_.size())
      break;  // more of it may come
    else
      whole += replacement;
    at += std::max<size_t>(good, 1);
  }
  held_.erase(0, at);
  return whole;
}

std::string Utf8::flush() {
  const std::string rest = held_.empty() ? "" : replacement;
  held_.clear();
  return rest;
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  stops_.erase(std::remove(stops_.begin(), stops_.end(), std::string()), stops_.end());
}

std::string StopMatcher::push(const std::string & text) {
  if (stopped_) return "";
  held_ += text;
  size_t start = std::string::npos, end = std::string::npos, overlap = 0;
  for (const std::string & stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) {
      for (size_t length = std::min(held_.size(), stop.size() - 1); length > overlap; --length)
        if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) overlap = length;
      continue;
    }
    if (at + stop.size() < end || (at + stop.size() == end && at < start)) {
      start = at;
      end = at + stop.size();
    }
  }
  stopped_ = start != std::string::npos;
  const size_t sure = stopped_ ? start : held_.size() - overlap;
  const std::string out = held_.substr(0, sure);
  held_.erase(0, stopped_ ? held_.size() : sure);
  return out;
}

std::string StopMatcher::flush() {
  std::string rest;
  rest.swap(held_);
  return rest;
}

}  // namespace precedent
