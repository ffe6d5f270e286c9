#include "check.hpp"

#include <map>
#include <optional>

#include "../core/refusals.hpp"
#include "model-handle.hpp"
#include "task.hpp"
#include "values.hpp"

// Of llama.cpp's src/llama-ext.h, which is not among its headers; exported, and its release is pinned.
struct llama_memory_breakdown_data {
  size_t model = 0, context = 0, compute = 0;
};
std::map<ggml_backend_buffer_type_t, llama_memory_breakdown_data> llama_get_memory_breakdown(const llama_context* context);

namespace precedent {

namespace {

struct Weight {
  std::string unlinkable;
  double tokenBytes = 0;
  llama_memory_breakdown_data bytes;
};

llama_memory_breakdown_data bytesOf(const Context& context) {
  llama_memory_breakdown_data sum;
  for (const auto& [type, bytes] : llama_get_memory_breakdown(context.handle())) {
    sum.model += bytes.model;
    sum.context += bytes.context;
    sum.compute += bytes.compute;
  }
  return sum;
}

Weight weightOf(const std::shared_ptr<Model>& model, ContextOptions options) {
  Weight weight;
  const BlobFormat format = [&] {
    const Context context(model, options);
    weight.unlinkable = context.unlinkable();
    weight.bytes = bytesOf(context);
    return context.format();
  }();
  weight.tokenBytes = static_cast<double>(format.layers) * (format.keyRowBytes + format.valueRowBytes);
  if (weight.unlinkable.empty()) return weight;
  // What a context of twice the tokens takes more: none in windows and recurrent states.
  const double tokens = options.contextTokens;
  options.contextTokens *= 2;
  weight.tokenBytes = (static_cast<double>(bytesOf(Context(model, options)).context) - static_cast<double>(weight.bytes.context)) / tokens;
  return weight;
}

}  // namespace

Napi::Value refusalsValue(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    Napi::Array all = Napi::Array::New(env);
    for (const Refusal& refusal : refusals()) {
      Napi::Object value = Napi::Object::New(env);
      Napi::Array names = Napi::Array::New(env);
      for (const std::string& name : refusal.architectures) names.Set(names.Length(), name);
      value.Set("why", refusal.why);
      value.Set("decided", refusal.decided);
      value.Set("refused", refusal.refused);
      value.Set("architectures", names);
      all.Set(all.Length(), value);
    }
    return all;
  });
}

Napi::Value weigh(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const std::shared_ptr<Model> model = ModelHandle::of(info[0]);
    require(info[1].IsObject(), "weigh takes options");
    const ContextOptions options = contextOptionsOf(info[1].As<Napi::Object>());
    auto found = std::make_shared<Weight>();
    return Task::start(
        env, [=] { *found = weightOf(model, options); },
        [found](Napi::Env to) -> Napi::Value {
          Napi::Object value = Napi::Object::New(to);
          value.Set("unlinkable", reasonValue(to, found->unlinkable));
          value.Set("tokenBytes", found->tokenBytes);
          value.Set("modelBytes", static_cast<double>(found->bytes.model));
          value.Set("contextBytes", static_cast<double>(found->bytes.context));
          value.Set("computeBytes", static_cast<double>(found->bytes.compute));
          return value;
        });
  });
}

}  // namespace precedent
