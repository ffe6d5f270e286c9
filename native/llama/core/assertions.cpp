#include "assertions.hpp"

#include <cstdio>
#include <string>

#include "failure.hpp"
#include "ggml.h"

namespace precedent {

namespace {

thread_local int throwing = 0;

void onAssertion(const char * message) {
  if (throwing == 0) {
    std::fprintf(stderr, "%s\n", message);
    return;  // and ggml aborts
  }
  std::string text = message;
  // Paths are those of the machine that compiled it.
  text.erase(0, text.rfind('/', text.find(':')) + 1);
  fail("model_failed", "llama.cpp refuses the model: " + text);
}

}  // namespace

AssertionsThrow::AssertionsThrow() { ++throwing; }
AssertionsThrow::~AssertionsThrow() { --throwing; }

void watchAssertions() { ggml_set_abort_callback(onAssertion); }

}  // namespace precedent
