#include "context-handle.hpp"

#include "instance.hpp"
#include "model-handle.hpp"
#include "task.hpp"
#include "values.hpp"

namespace precedent {

struct ContextHandle::Event {
  enum Kind { text, progress, done, failed } kind;
  uint64_t job;
  std::string one, other;  // text; or code and message
  int tokens = 0;
  JobResult result;
};

void ContextHandle::define(Napi::Env env, Napi::Object exports) {
  const Napi::Function constructor =
      DefineClass(env, "ContextHandle",
                  {InstanceMethod<&ContextHandle::format>("format"), InstanceMethod<&ContextHandle::run>("run"),
                   InstanceMethod<&ContextHandle::cancel>("cancel"), InstanceMethod<&ContextHandle::close>("close"),
                   InstanceMethod<&ContextHandle::stop>("stop")});
  env.GetInstanceData<Instance>()->context = Napi::Persistent(constructor);
  exports.Set("createContext", Napi::Function::New(env, create));
}

Napi::Value ContextHandle::create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::shared_ptr<Model> model;
  ContextOptions options;
  SchedulerOptions scheduler;
  int contexts = 1;
  guarded(env, [&] {
    model = ModelHandle::of(info[0]);
    require(info[1].IsObject(), "createContext takes options");
    const Napi::Object given = info[1].As<Napi::Object>();
    options = contextOptionsOf(given);
    scheduler.partTokens = static_cast<int>(integerOf(given, "partTokens"));
    scheduler.mostWaiting = static_cast<int>(integerOf(given, "mostWaiting", 0, 65536));
    scheduler.pieceBytes = static_cast<size_t>(integerOf(given, "pieceBytes", 1));
    contexts = static_cast<int>(integerOf(given, "contexts", 1, 120));
  });
  auto engine = std::make_shared<std::shared_ptr<Engine>>();
  return Task::start(
      env, [=] { *engine = std::make_shared<Engine>(model, options, scheduler, contexts); },
      [engine](Napi::Env to) -> Napi::Value {
        const Napi::Object handle = to.GetInstanceData<Instance>()->context.New({});
        Unwrap(handle)->state_ = std::make_shared<State>(to, std::move(*engine));
        return handle;
      });
}

ContextHandle::~ContextHandle() {
  if (state_ != nullptr) state_->stop();
}

ContextHandle::State::State(Napi::Env env, std::shared_ptr<Engine> given)
    : env(env), engine(std::move(given)), running(env.GetInstanceData<Instance>()->running),
      events(Napi::ThreadSafeFunction::New(env, Napi::Function(), "precedent-llama", 0, 1)) {
  events.Unref(env);
  running->insert(this);
  // Runs before the thread-safe function's own hook, which was added earlier.
  napi_add_env_cleanup_hook(env, onCleanup, this);
}

void ContextHandle::State::onCleanup(void* given) {
  State* state = static_cast<State*>(given);
  state->stop();
  state->pending.clear();
}

void ContextHandle::State::stop() {
  if (stopped) return;
  closing = stopped = true;
  running->erase(this);
  napi_remove_env_cleanup_hook(env, onCleanup, this);
  engine->close();
  // Not before the thread has ended, which calls it.
  events.Release();
}

void ContextHandle::State::say(std::unique_ptr<Event> event, const std::shared_ptr<State>& self) {
  const napi_status status = events.BlockingCall(event.get(), [self](Napi::Env env, Napi::Function, Event* given) {
    const std::unique_ptr<Event> delivered(given);
    if (static_cast<napi_env>(env) != nullptr) self->deliver(env, *delivered);
  });
  if (status == napi_ok) event.release();
}

void ContextHandle::State::deliver(Napi::Env env, Event& event) {
  const auto found = pending.find(event.job);
  if (found == pending.end()) return;
  Napi::HandleScope scope(env);
  Napi::Value failure = env.Null(), result = env.Undefined();
  // The job ends with what its own callback throws, or with what its result is too large for.
  const auto guard = [&](const auto& work) {
    try {
      work();
    } catch (const Napi::Error& error) {
      failure = error.Value();
    } catch (...) {
      const Failure other = caught();
      failure = errorOf(env, other.code, other.what()).Value();
    }
  };
  const bool isLast = event.kind == Event::done || event.kind == Event::failed;
  guard([&] {
    if (event.kind == Event::text)
      found->second.onEvent.Call({Napi::String::New(env, "text"), Napi::String::New(env, event.one)});
    else if (event.kind == Event::progress)
      found->second.onEvent.Call({Napi::String::New(env, "progress"), Napi::Number::New(env, event.tokens)});
    else if (event.kind == Event::done)
      result = resultValue(env, event.result);
    else
      failure = errorOf(env, event.one, event.other).Value();
  });
  if (!isLast && failure.IsNull()) return;
  // Its callback may have stopped the context.
  const auto still = pending.find(event.job);
  if (still == pending.end()) return;
  const Pending over = std::move(still->second);
  pending.erase(still);
  if (pending.empty() && !stopped) events.Unref(env);
  if (!isLast && !closing) engine->cancel(event.job);
  over.onDone.Call({failure, failure.IsNull() ? result : env.Undefined()});
}

std::shared_ptr<Engine> ContextHandle::open() const {
  if (state_ == nullptr || state_->closing) fail("closed", "the context was closed");
  return state_->engine;
}

Napi::Value ContextHandle::format(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::shared_ptr<Engine> engine = open();
    Napi::Object value = formatValue(info.Env(), engine->format()).As<Napi::Object>();
    value.Set("cells", engine->cells());
    value.Set("scattered", engine->scattered());
    value.Set("unlinkable", reasonValue(info.Env(), engine->unlinkable()));
    return value;
  });
}

Napi::Value ContextHandle::run(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    require(info[0].IsObject() && info[1].IsFunction() && info[2].IsFunction(), "run takes a job and two functions");
    Pending pending;
    const Napi::Object given = info[0].As<Napi::Object>();
    Job job = jobOf(given);
    const bool progress = booleanOf(given, "progress");
    pending.onEvent = Napi::Persistent(info[1].As<Napi::Function>());
    pending.onDone = Napi::Persistent(info[2].As<Napi::Function>());

    // Behind all that may call getters: they may have closed it.
    const std::shared_ptr<Engine> engine = open();
    const std::shared_ptr<State> state = state_;
    const uint64_t id = engine->reserve();
    const auto event = [id](Event::Kind kind) {
      auto made = std::make_unique<Event>();
      made->kind = kind;
      made->job = id;
      return made;
    };
    JobEvents events;
    events.text = [=](const std::string& text) {
      auto made = event(Event::text);
      made->one = text;
      state->say(std::move(made), state);
    };
    if (progress)
      events.progress = [=](int tokens) {
        auto made = event(Event::progress);
        made->tokens = tokens;
        state->say(std::move(made), state);
      };
    events.done = [=](JobResult result) {
      auto made = event(Event::done);
      made->result = std::move(result);
      state->say(std::move(made), state);
    };
    // Made now: where a job fails for want of memory, there is some to say so.
    const auto ready = std::make_shared<std::unique_ptr<Event>>(event(Event::failed));
    events.failed = [=](const std::string& code, const std::string& message) {
      std::unique_ptr<Event> made = *ready != nullptr ? std::move(*ready) : event(Event::failed);
      made->one = code;
      made->other = message;
      state->say(std::move(made), state);
    };
    if (state->pending.empty()) state->events.Ref(env);
    state->pending.emplace(id, std::move(pending));
    try {
      engine->submit(id, std::move(job), std::move(events));
    } catch (...) {
      state->pending.erase(id);
      if (state->pending.empty()) state->events.Unref(env);
      throw;
    }
    return Napi::Number::New(env, static_cast<double>(id));
  });
}

Napi::Value ContextHandle::cancel(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const int64_t job = integerOf(info[0], "a job", 0, int64_t{1} << 53);
    if (state_ != nullptr && !state_->closing) state_->engine->cancel(static_cast<uint64_t>(job));
    return info.Env().Undefined();
  });
}

Napi::Value ContextHandle::stop(const Napi::CallbackInfo& info) {
  if (state_ != nullptr) state_->stop();
  return info.Env().Undefined();
}

// Resolves when the owner thread is gone, however often it is called.
Napi::Value ContextHandle::close(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::shared_ptr<State> state = state_;
    if (state == nullptr) fail("closed", "the context was never opened");
    state->closing = true;
    return Task::start(
        info.Env(), [engine = state->engine] { engine->close(); },
        [state](Napi::Env env) {
          state->stop();
          return env.Undefined();
        });
  });
}

}  // namespace precedent
