// From tokens to text that may be shown: whole characters only, and nothing that may turn out to be the start of a stop string.
#pragma once

#include <string>
#include <vector>

namespace precedent {

// Takes bytes as they come and gives whole UTF-8 characters; what can't be one becomes U+FFFD.
class Utf8 {
public:
  std::string push(const std::string & bytes);
  std::string flush();  // the end: what is left is no character

private:
  std::string held_;
};

// The stop string that is complete first ends the text and is dropped with all after it. Empty ones are ignored.
class StopMatcher {
public:
  explicit StopMatcher(std::vector<std::string> stops);
  std::string push(const std::string & text);  // the text that is surely part of the answer
  std::string flush();
  bool stopped() const { return stopped_; }

private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace precedent
