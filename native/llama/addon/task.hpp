// Long work on a thread of libuv's pool, as a promise; a Failure becomes an Error with its code.
#pragma once

#include <functional>
#include <utility>

#include <napi.h>

#include "../core/failure.hpp"

namespace precedent {

inline Napi::Error errorOf(Napi::Env env, const std::string& code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", Napi::String::New(env, code));
  return error;
}

// work() runs on the other thread, answer() makes its result for JavaScript.
class Task : public Napi::AsyncWorker {
 public:
  using Work = std::function<void()>;
  using Answer = std::function<Napi::Value(Napi::Env)>;

  static Napi::Promise start(Napi::Env env, Work work, Answer answer) {
    auto* task = new Task(env, std::move(work), std::move(answer));
    Napi::Promise promise = task->deferred_.Promise();
    task->Queue();
    return promise;
  }

 protected:
  void Execute() override {
    try {
      work_();
      return;
    } catch (...) {
      const Failure failure = caught();
      code_ = failure.code;
      message_ = failure.what();
    }
    // Never empty, which would mean that all went well.
    SetError(message_.empty() ? "the addon failed" : message_);
  }
  void OnOK() override {
    try {
      deferred_.Resolve(answer_(Env()));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    } catch (...) {
      const Failure failure = caught();
      deferred_.Reject(errorOf(Env(), failure.code, failure.what()).Value());
    }
  }
  void OnError(const Napi::Error&) override { deferred_.Reject(errorOf(Env(), code_, message_).Value()); }

 private:
  Task(Napi::Env env, Work work, Answer answer)
      : AsyncWorker(env), deferred_(env), work_(std::move(work)), answer_(std::move(answer)) {}
  Napi::Promise::Deferred deferred_;
  Work work_;
  Answer answer_;
  std::string code_ = "decode_failed", message_;
};

// Runs in the caller's thread what may throw; JavaScript gets an Error with a code.
template <typename Work>
auto guarded(Napi::Env env, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    const Failure failure = caught();
    throw errorOf(env, failure.code, failure.what());
  }
}

}  // namespace precedent
