// What the addon keeps for each environment (main thread or worker) that loaded it.
#pragma once

#include <memory>
#include <unordered_set>

#include <napi.h>

namespace precedent {

// Has a thread that must end before its environment does.
struct Stoppable {
  virtual ~Stoppable() = default;
  virtual void stop() = 0;
};

using Stoppables = std::unordered_set<Stoppable*>;

struct Instance {
  Napi::FunctionReference model, context, scorer;
  std::shared_ptr<Stoppables> running = std::make_shared<Stoppables>();
};

}  // namespace precedent
