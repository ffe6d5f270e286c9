#include "model-handle.hpp"

#include <algorithm>

#include "instance.hpp"
#include "task.hpp"
#include "values.hpp"

namespace precedent {

void ModelHandle::define(Napi::Env env, Napi::Object exports) {
  const Napi::Function constructor =
      DefineClass(env, "ModelHandle",
                  {InstanceMethod<&ModelHandle::facts>("facts"), InstanceMethod<&ModelHandle::rope>("rope"),
                   InstanceMethod<&ModelHandle::tokenize>("tokenize"), InstanceMethod<&ModelHandle::detokenize>("detokenize"),
                   InstanceMethod<&ModelHandle::isEnd>("isEnd"), InstanceMethod<&ModelHandle::close>("close")});
  env.GetInstanceData<Instance>()->model = Napi::Persistent(constructor);
  exports.Set("loadModel", Napi::Function::New(env, load));
}

Napi::Value ModelHandle::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ModelOptions options;
  guarded(env, [&] {
    require(info[0].IsObject(), "loadModel takes an object");
    const Napi::Object given = info[0].As<Napi::Object>();
    options.path = textOf(given, "path");
    options.gpu = booleanOf(given, "gpu");
    options.backends = textOf(given, "backends");
    const Napi::Value fingerprint = given.Get("fingerprint");
    require(fingerprint.IsTypedArray() && fingerprint.As<Napi::TypedArray>().ByteLength() == options.fingerprint.size(),
            "fingerprint must have 32 bytes");
    const uint8_t* bytes = fingerprint.As<Napi::Uint8Array>().Data();
    std::copy(bytes, bytes + options.fingerprint.size(), options.fingerprint.begin());
  });
  auto model = std::make_shared<std::shared_ptr<Model>>();
  return Task::start(
      env, [options, model] { *model = Model::load(options); },
      [model](Napi::Env to) -> Napi::Value {
        const Napi::Object handle = to.GetInstanceData<Instance>()->model.New({});
        Unwrap(handle)->model_ = std::move(*model);
        return handle;
      });
}

std::shared_ptr<Model> ModelHandle::of(const Napi::Value& value) {
  const bool isHandle =
      value.IsObject() && value.As<Napi::Object>().InstanceOf(value.Env().GetInstanceData<Instance>()->model.Value());
  require(isHandle, "a loaded model is wanted");
  ModelHandle* handle = Unwrap(value.As<Napi::Object>());
  handle->open();
  return handle->model_;
}

Model& ModelHandle::open() const {
  if (model_ == nullptr) fail("closed", "the model was closed");
  return *model_;
}

Napi::Value ModelHandle::facts(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return factsValue(info.Env(), open().facts()); });
}

Napi::Value ModelHandle::rope(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return ropeValue(info.Env(), open().rope(info[0].ToNumber().Int32Value())); });
}

Napi::Value ModelHandle::tokenize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    require(info[0].IsString() && info[1].IsBoolean(), "tokenize takes a string and whether control tokens are read");
    return integersValue(info.Env(), open().tokenize(info[0].As<Napi::String>().Utf8Value(), info[1].As<Napi::Boolean>()));
  });
}

// Bytes: they may end in the middle of a character.
Napi::Value ModelHandle::detokenize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require(info[1].IsBoolean(), "detokenize takes tokens and whether control tokens are written");
    const std::string text = open().detokenize(integersOf(info[0], "tokens"), info[1].As<Napi::Boolean>());
    return Napi::Buffer<char>::Copy(info.Env(), text.data(), text.size());
  });
}

Napi::Value ModelHandle::isEnd(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Token token = info[0].ToNumber().Int32Value();
    open().checkTokens({token});
    return Napi::Boolean::New(info.Env(), open().isEnd(token));
  });
}

Napi::Value ModelHandle::close(const Napi::CallbackInfo& info) {
  model_.reset();
  return info.Env().Undefined();
}

}  // namespace precedent
