#include "scorer-handle.hpp"

#include "instance.hpp"
#include "model-handle.hpp"
#include "task.hpp"
#include "values.hpp"

namespace precedent {

void ScorerHandle::define(Napi::Env env, Napi::Object exports) {
  const Napi::Function constructor = DefineClass(
      env, "ScorerHandle",
      {InstanceMethod<&ScorerHandle::attention>("attention"), InstanceMethod<&ScorerHandle::deviations>("deviations"),
       InstanceMethod<&ScorerHandle::close>("close")});
  env.GetInstanceData<Instance>()->scorer = Napi::Persistent(constructor);
  exports.Set("createScorer", Napi::Function::New(env, create));
}

Napi::Value ScorerHandle::create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::shared_ptr<Model> model;
  ContextOptions options;
  guarded(env, [&] {
    model = ModelHandle::of(info[0]);
    require(info[1].IsObject(), "createScorer takes options");
    options = contextOptionsOf(info[1].As<Napi::Object>());
  });
  auto scorer = std::make_shared<std::shared_ptr<Scorer>>();
  return Task::start(
      env, [=] { *scorer = std::make_shared<Scorer>(model, options); },
      [scorer](Napi::Env to) -> Napi::Value {
        const Napi::Object handle = to.GetInstanceData<Instance>()->scorer.New({});
        Unwrap(handle)->scorer_ = std::move(*scorer);
        return handle;
      });
}

std::shared_ptr<Scorer> ScorerHandle::open() const {
  if (scorer_ == nullptr) fail("closed", "the scorer was closed");
  return scorer_;
}

Napi::Value ScorerHandle::attention(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const std::shared_ptr<Scorer> scorer = open();
    require(info[0].IsObject(), "attention takes an object");
    const Napi::Object given = info[0].As<Napi::Object>();
    auto job = std::make_shared<AttentionJob>();
    job->tokens = integersOf(given, "tokens");
    job->links = linksOf(given, "links", job->tokens.size());
    job->starts = integersOf(given, "starts");
    job->layers = static_cast<int>(integerOf(given, "layers", 0));
    auto scores = std::make_shared<AttentionScores>();
    return Task::start(
        env, [=] { *scores = scorer->attention(*job); },
        [scores](Napi::Env to) -> Napi::Value {
          Napi::Object value = Napi::Object::New(to);
          value.Set("layers", scores->layers);
          value.Set("chunks", scores->chunks);
          value.Set("sums", floatsValue(to, scores->sums));
          value.Set("before", floatsValue(to, scores->before));
          return value;
        });
  });
}

Napi::Value ScorerHandle::deviations(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const std::shared_ptr<Scorer> scorer = open();
    require(info[0].IsObject(), "deviations takes an object");
    const Napi::Object given = info[0].As<Napi::Object>();
    auto job = std::make_shared<DeviationJob>();
    job->tokens = integersOf(given, "tokens");
    job->links = linksOf(given, "links", job->tokens.size());
    job->firstLayer = static_cast<int>(integerOf(given, "firstLayer"));
    job->endLayer = static_cast<int>(integerOf(given, "endLayer"));
    auto found = std::make_shared<Deviations>();
    return Task::start(
        env, [=] { *found = scorer->deviations(*job); },
        [found](Napi::Env to) -> Napi::Value {
          Napi::Object value = Napi::Object::New(to);
          value.Set("keys", floatsValue(to, found->keys));
          value.Set("values", floatsValue(to, found->values));
          return value;
        });
  });
}

// What is under way is finished first.
Napi::Value ScorerHandle::close(const Napi::CallbackInfo& info) {
  scorer_.reset();
  return info.Env().Undefined();
}

}  // namespace precedent
