// A context for JavaScript: jobs go to its owner thread, events come back through one thread-safe function.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include <napi.h>

#include "../core/engine.hpp"

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
    std::vector<Napi::ObjectReference> blobs;  // read by the job
  };
  struct Event;
  // Outlives the handle while the owner thread may still say something.
  struct State {
    std::unique_ptr<Engine> engine;
    Napi::ThreadSafeFunction events;
    std::unordered_map<uint64_t, Pending> pending;  // of JavaScript's thread
    bool stopped = false;
    void stop();
    void deliver(Napi::Env env, Event& event);
    void say(std::unique_ptr<Event> event, const std::shared_ptr<State>& self);
  };

  Napi::Value format(const Napi::CallbackInfo& info);
  // run(job, onEvent(kind, value), onDone(failure, result)): the job's number
  Napi::Value run(const Napi::CallbackInfo& info);
  Napi::Value cancel(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  Napi::Value stop(const Napi::CallbackInfo& info);
  Engine& open() const;

  std::shared_ptr<State> state_;
};

}  // namespace precedent
