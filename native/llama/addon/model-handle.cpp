#include "model-handle.hpp"

#include <algorithm>

#include "instance.hpp"
#include "memory.hpp"
#include "task.hpp"
#include "values.hpp"

namespace precedent {

namespace {

// An object's prototype proves nothing: JavaScript may set it.
constexpr napi_type_tag tag{0x6d6f64656c2d6861, 0x6e646c652d707265};

}  // namespace

ModelHandle::ModelHandle(const Napi::CallbackInfo& info) : ObjectWrap(info) { Value().TypeTag(&tag); }

void ModelHandle::define(Napi::Env env, Napi::Object exports) {
  const Napi::Function constructor =
      DefineClass(env, "ModelHandle",
                  {InstanceMethod<&ModelHandle::facts>("facts"), InstanceMethod<&ModelHandle::rope>("rope"),
                   InstanceMethod<&ModelHandle::tokenize>("tokenize"), InstanceMethod<&ModelHandle::detokenize>("detokenize"),
                   InstanceMethod<&ModelHandle::isEnd>("isEnd"), InstanceMethod<&ModelHandle::flashAttention>("flashAttention"),
                   InstanceMethod<&ModelHandle::close>("close")});
  env.GetInstanceData<Instance>()->model = Napi::Persistent(constructor);
  exports.Set("loadModel", Napi::Function::New(env, load));
}

Napi::Value ModelHandle::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ModelOptions options;
  guarded(env, [&] {
    require(info[0].IsObject(), "loadModel takes an object");
    const Napi::Object given = info[0].As<Napi::Object>();
    options.path = pathOf(given.Get("path"), "path");
    options.device = textOf(given, "device");
    options.gpuLayers = static_cast<int>(integerOf(given, "gpuLayers", -1));
    options.backends = pathOf(given.Get("backends"), "backends");
    options.libraries = pathsOf(given.Get("libraries"), "libraries");
    const Napi::Value fingerprint = given.Get("fingerprint");
    const SharedBytes bytes = sharedBytesOf(fingerprint, "fingerprint");
    require(bytes.size == options.fingerprint.size(), "fingerprint must have 32 bytes");
    std::copy_n(bytes.data, bytes.size, options.fingerprint.begin());
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
  require(value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&tag), "a loaded model is wanted");
  return Unwrap(value.As<Napi::Object>())->open();
}

std::shared_ptr<Model> ModelHandle::open() const {
  if (model_ == nullptr) fail("closed", "the model was closed");
  return model_;
}

Napi::Value ModelHandle::facts(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return factsValue(info.Env(), open()->facts()); });
}

Napi::Value ModelHandle::rope(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return ropeValue(info.Env(), open()->rope(static_cast<int>(integerOf(info[0], "contextTokens", 1)))); });
}

Napi::Value ModelHandle::tokenize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    require(info[0].IsString() && info[1].IsBoolean(), "tokenize takes a string and whether control tokens are read");
    return integersValue(info.Env(), open()->tokenize(info[0].As<Napi::String>().Utf8Value(), info[1].As<Napi::Boolean>()));
  });
}

// Bytes: they may end in the middle of a character.
Napi::Value ModelHandle::detokenize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require(info[1].IsBoolean(), "detokenize takes tokens and whether control tokens are written");
    const std::string text = open()->detokenize(integersOf(info[0], "tokens"), info[1].As<Napi::Boolean>());
    return Napi::Buffer<char>::Copy(info.Env(), text.data(), text.size());
  });
}

Napi::Value ModelHandle::isEnd(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::shared_ptr<Model> model = open();
    const Token token = static_cast<Token>(integerOf(info[0], "a token"));
    model->checkTokens({token});
    return Napi::Boolean::New(info.Env(), model->isEnd(token));
  });
}

Napi::Value ModelHandle::flashAttention(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    require(info[0].IsString(), "flashAttention takes a KV type");
    return Napi::Boolean::New(info.Env(), open()->flashAttention(kvTypeOf(info[0].As<Napi::String>())));
  });
}

Napi::Value ModelHandle::close(const Napi::CallbackInfo& info) {
  model_.reset();
  return info.Env().Undefined();
}

}  // namespace precedent
