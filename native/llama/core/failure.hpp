// The one kind of error that leaves the core. Everything that would make llama.cpp abort is checked before it is called, and what
// llama.cpp refuses becomes one of these with the last line that it logged.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace precedent {

// Codes are part of the contract with connections/llama/errors.ts:
//   invalid_argument   the caller asked for something that can't be: a bug of the caller
//   model_missing      there is no such file
//   model_failed       llama.cpp can't load the file
//   model_unsupported  it writes no text (encoder, diffusion); or links are asked of one whose caches can't be moved
//   device_missing     a GPU was asked for and none was found
//   context_failed     no context: too little memory, or settings that don't go together
//   context_full       more cells are wanted than the context has
//   blob_foreign       a chunk cache of another model, KV type, flash-attention setting or RoPE table
//   blob_corrupt       a chunk cache that is cut short or contradicts itself
//   decode_failed      llama.cpp failed in the middle of a computation
//   cancelled, closed  the caller ended it
class Failure : public std::runtime_error {
public:
  Failure(std::string code, const std::string & message) : std::runtime_error(message), code(std::move(code)) {}
  const std::string code;
};

[[noreturn]] inline void fail(const char * code, const std::string & message) { throw Failure(code, message); }

// What a catch block has caught, as a Failure; `otherwise`: its code if it is none.
inline Failure caught(const char * otherwise = "decode_failed") {
  try {
    throw;
  } catch (const Failure & failure) {
    return failure;
  } catch (const std::bad_alloc &) {
    return Failure(otherwise, "there is too little memory");
  } catch (const std::exception & failure) {
    return Failure(otherwise, failure.what());
  } catch (...) {
    return Failure(otherwise, "an exception of an unknown type");
  }
}

// Runs `work`; what it throws goes to failed(code, message). False when it threw.
template <typename Work, typename Failed>
bool attempt(const Work & work, const Failed & failed) {
  try {
    work();
    return true;
  } catch (...) {
    const Failure failure = caught();
    failed(failure.code, failure.what());
  }
  return false;
}

inline void require(bool holds, const std::string & message, const char * code = "invalid_argument") {
  if (!holds) fail(code, message);
}

}  // namespace precedent
