// What the addon keeps for each environment (main thread or worker) that loaded it.
#pragma once

#include <napi.h>

namespace precedent {

struct Instance {
  Napi::FunctionReference model, context, scorer;
};

}  // namespace precedent
