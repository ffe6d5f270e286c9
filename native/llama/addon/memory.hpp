// Bytes that JavaScript and the core share. Both sides own them: a buffer that is transferred or collected, or whose thread ends,
// stays valid for the job that reads it. Node-API has no such owner, so this asks V8; the addon is built for the node that runs.
#pragma once

#include <memory>

#include <napi.h>

#include "../core/blob.hpp"

namespace precedent {

struct SharedBytes {
  const uint8_t* data;
  size_t size;
  std::shared_ptr<const void> owner;
};

// Of a Uint8Array; anything else, and one whose buffer can be resized, throws invalid_argument.
SharedBytes sharedBytesOf(const Napi::Value& value, const char* what);

// A Buffer over the core's memory, not copied.
Napi::Value bufferOf(Napi::Env env, Bytes& bytes);

// Calls stop() when this environment ends, process.exit included, which runs no cleanup hooks.
void atExit(Napi::Env env, void (*stop)(void*), void* argument);

}  // namespace precedent
