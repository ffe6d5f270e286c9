// A context for JavaScript: jobs go to its owner thread, events come back through one thread-safe function.
#pragma once

#include <memory>
#include <unordered_map>
#include <string>

#include <napi.h>

#include "../core/engine.hpp"
#include "instance.hpp"

namespace precedent {

class ContextHandle : public Napi::ObjectWrap<ContextHandle> {
 public:
  static void define(Napi::Env env, Napi::Object exports);
  // createContext(model, options): Promise<ContextHandle>
  static Napi::Value create(const Napi::CallbackInfo& info);

  explicit ContextHandle(const Napi::CallbackInfo& info) : ObjectWrap(info) {}
  ~ContextHandle() override;

 private:
  struct Pending {
    Napi::FunctionReference onEvent, onDone;
  };
  struct Event;
  // Outlives the handle while the owner thread may still say something. All but say() belongs to JavaScript's thread.
  struct State : Stoppable {
    explicit State(Napi::Env env, std::shared_ptr<Engine> engine);
    const Napi::Env env;
    const std::shared_ptr<Engine> engine;  // shared with a close() under way
    const std::shared_ptr<Stoppables> running;
    Napi::ThreadSafeFunction events;
    std::unordered_map<uint64_t, Pending> pending;
    bool closing = false, stopped = false;
    // Waits for the owner thread, whoever else waits for it; nothing is said after that.
    void stop() override;
    static void onCleanup(void* state);
    void deliver(Napi::Env env, Event& event);
    void say(std::unique_ptr<Event> event, const std::shared_ptr<State>& self);
  };

  Napi::Value format(const Napi::CallbackInfo& info);
  // run(job, onEvent(kind, value), onDone(failure, result)): the job's number
  Napi::Value run(const Napi::CallbackInfo& info);
  Napi::Value cancel(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  Napi::Value stop(const Napi::CallbackInfo& info);
  std::shared_ptr<Engine> open() const;

  std::shared_ptr<State> state_;
};

}  // namespace precedent
