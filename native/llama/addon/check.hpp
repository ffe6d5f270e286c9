// What `precedent models check` asks: which models are refused and why, and what one of them takes.
#pragma once

#include <napi.h>

namespace precedent {

// refusals(): [{why, decided, refused, architectures}]
Napi::Value refusalsValue(const Napi::CallbackInfo& info);

// weigh(model, options of a context): Promise<{unlinkable, tokenBytes, modelBytes, contextBytes, computeBytes}>
Napi::Value weigh(const Napi::CallbackInfo& info);

}  // namespace precedent
