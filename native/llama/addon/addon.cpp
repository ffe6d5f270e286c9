// The addon: arguments checked and copied, long work elsewhere as promises, exceptions as Errors with a code. No policy in here.
#include <napi.h>

#include "check.hpp"
#include "context-handle.hpp"
#include "instance.hpp"
#include "memory.hpp"
#include "model-handle.hpp"
#include "scorer-handle.hpp"
#include "task.hpp"
#include "values.hpp"

namespace precedent {

namespace {

// devices(folder of the prebuilt libraries, libraries of GPUs' backends): [{name, description, kind, totalBytes, freeBytes}]
Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    Napi::Array all = Napi::Array::New(env);
    const std::vector<std::string> libraries = pathsOf(info[1], "the libraries");
    for (const Device& device : loadBackends(pathOf(info[0], "the folder of the backends"), libraries)) {
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
    const SharedBytes bytes = sharedBytesOf(info[0], "a blob");
    return headerValue(info.Env(), BlobView(bytes.data, bytes.size));
  });
}

Napi::Object start(Napi::Env env, Napi::Object exports) {
  auto* instance = new Instance();
  env.SetInstanceData(instance);
  // It may outlive the instance, and destroyed globals of llama.cpp must not be met by a batch under way.
  atExit(
      env,
      [](void* given) {
        const std::unique_ptr<std::shared_ptr<Stoppables>> running(static_cast<std::shared_ptr<Stoppables>*>(given));
        while (!(*running)->empty()) (*(*running)->begin())->stop();
      },
      new std::shared_ptr<Stoppables>(instance->running));
  ModelHandle::define(env, exports);
  ContextHandle::define(env, exports);
  ScorerHandle::define(env, exports);
  exports.Set("devices", Napi::Function::New(env, devices));
  exports.Set("refusals", Napi::Function::New(env, refusalsValue));
  exports.Set("weigh", Napi::Function::New(env, weigh));
  exports.Set("describeBlob", Napi::Function::New(env, describeBlob));
  return exports;
}

}  // namespace

NODE_API_MODULE(precedent_llama, start)

}  // namespace precedent
