// A loaded model for JavaScript. It stays loaded until it is closed and no context of it is left.
#pragma once

#include <memory>

#include <napi.h>

#include "../core/model.hpp"

namespace precedent {

class ModelHandle : public Napi::ObjectWrap<ModelHandle> {
 public:
  static void define(Napi::Env env, Napi::Object exports);
  // loadModel({path, fingerprint: Uint8Array(32), device, gpuLayers, backends, libraries}): Promise<ModelHandle>
  static Napi::Value load(const Napi::CallbackInfo& info);
  // Throws invalid_argument for anything but an open handle.
  static std::shared_ptr<Model> of(const Napi::Value& value);

  explicit ModelHandle(const Napi::CallbackInfo& info);

 private:
  Napi::Value facts(const Napi::CallbackInfo& info);
  Napi::Value rope(const Napi::CallbackInfo& info);
  Napi::Value tokenize(const Napi::CallbackInfo& info);
  Napi::Value detokenize(const Napi::CallbackInfo& info);
  Napi::Value isEnd(const Napi::CallbackInfo& info);
  Napi::Value flashAttention(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  std::shared_ptr<Model> open() const;

  std::shared_ptr<Model> model_;
};

}  // namespace precedent
