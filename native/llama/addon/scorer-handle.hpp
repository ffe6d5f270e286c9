// A scorer for JavaScript. Its questions are answered one after the other on libuv's pool.
#pragma once

#include <memory>

#include <napi.h>

#include "../core/scorer.hpp"

namespace precedent {

class ScorerHandle : public Napi::ObjectWrap<ScorerHandle> {
 public:
  static void define(Napi::Env env, Napi::Object exports);
  // createScorer(model, options): Promise<ScorerHandle>
  static Napi::Value create(const Napi::CallbackInfo& info);

  explicit ScorerHandle(const Napi::CallbackInfo& info) : ObjectWrap(info) {}

 private:
  // ({tokens, links, starts, layers}): Promise<{layers, chunks, sums, before}>
  Napi::Value attention(const Napi::CallbackInfo& info);
  // ({tokens, links, firstLayer, endLayer}): Promise<{keys, values}>
  Napi::Value deviations(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  std::shared_ptr<Scorer> open() const;

  std::shared_ptr<Scorer> scorer_;
};

}  // namespace precedent
