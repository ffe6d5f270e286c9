// The equalities under "Correctness that must hold" of the specification, on any model and device.
#pragma once

#include <memory>

#include "../core/context.hpp"

namespace precedent {

struct EqualityOptions {
  ContextOptions context;
  uint64_t seed = 1;
  bool trained = false;  // prompts are text and predictions are compared; else tokens are random and so may be the weights
  int orders = 6;       // of the three chunks that are tried
  int rounds = 200;     // of the random walk
  double seconds = 60;  // it stops earlier
};

// Prints a line for each and gives the number of those that do not hold.
int checkEqualities(const std::shared_ptr<Model>& model, const EqualityOptions& options);

// Random prompts, links, recomputed runs, exports, evictions and cancelled requests, several at a time, against full prefills.
int checkRandomWalk(const std::shared_ptr<Model>& model, const EqualityOptions& options);

}  // namespace precedent
