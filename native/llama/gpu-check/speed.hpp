// Time to first token and throughput of linked prefill beside full prefill, on any model (random weights do) and device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../core/context.hpp"

namespace precedent {

struct SpeedOptions {
  ContextOptions context;
  std::vector<int> lengths{4096, 8192, 16384, 32768};  // tokens of a prompt, the question's 64 among them
  std::vector<int> flights{1, 4, 8};                   // requests at a time
  int chunkTokens = 512;
  std::vector<std::string> policies;  // these and full; none: all
  int answerTokens = 32;  // of each request when throughput is measured; 0: it is not
  int repeats = 3;        // of each time to first token; the median counts
  uint64_t seed = 1;
  std::string out;  // file that gets one JSON object a line; "": standard output only
};

void measureSpeed(const std::shared_ptr<Model>& model, const SpeedOptions& options);

}  // namespace precedent
