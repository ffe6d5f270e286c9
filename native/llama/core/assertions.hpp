// llama.cpp aborts the process where an assertion of it fails. While a model file decides what is asserted, an assertion becomes a
// Failure of the thread instead.
#pragma once

namespace precedent {

// For its lifetime assertions on this thread throw model_failed, through frames of llama.cpp: what was being made is given up.
class AssertionsThrow {
public:
  AssertionsThrow();
  ~AssertionsThrow();
  AssertionsThrow(const AssertionsThrow &) = delete;
  AssertionsThrow & operator=(const AssertionsThrow &) = delete;
};

// Once a process.
void watchAssertions();

}  // namespace precedent
