// The addon: arguments checked and copied, long work elsewhere as promises, exceptions as Errors with a code. No policy in here.
#include <napi.h>

#include "context-handle.hpp"
#include "instance.hpp"
#include "model-handle.hpp"
#include "scorer-handle.hpp"
#include "task.hpp"
#include "values.hpp"

namespace precedent {

namespace {

// devices(folder of the prebuilt libraries): [{name, description, kind, totalBytes, freeBytes}]
Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    require(info[0].IsString(), "devices takes the folder of the backends");
    Napi::Array all = Napi::Array::New(env);
    for (const Device& device : loadBackends(info[0].As<Napi::String>().Utf8Value())) {
      Napi::Object value = Napi::Object::New(env);
      value.Set("name", device.name);
      value.Set("description", device.description);
      value.Set("kind", device.kind);
      value.Set("totalBytes", static_cast<double>(device.totalBytes));
      value.Set("freeBytes", static_cast<double>(device.freeBytes));
      all.Set(all.Length(), value);
    }
    return all;
  });
}

// describeBlob(Uint8Array): its header
Napi::Value describeBlob(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    require(info[0].IsTypedArray() && info[0].As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array, "a blob must be a Uint8Array");
    const Napi::Uint8Array bytes = info[0].As<Napi::Uint8Array>();
    return headerValue(info.Env(), BlobView(bytes.Data(), bytes.ByteLength()));
  });
}

Napi::Object start(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new Instance());
  ModelHandle::define(env, exports);
  ContextHandle::define(env, exports);
  ScorerHandle::define(env, exports);
  exports.Set("devices", Napi::Function::New(env, devices));
  exports.Set("describeBlob", Napi::Function::New(env, describeBlob));
  return exports;
}

}  // namespace

NODE_API_MODULE(precedent_llama, start)

}  // namespace precedent
