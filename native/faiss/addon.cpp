// The addon: arguments checked and copied, long work on a thread of libuv's pool as a promise, exceptions as errors of JavaScript.
// search() is answered at once in the caller's thread. What may be called when is Index's business (index.hpp); policy is the caller's.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include <napi.h>
#include <omp.h>

#include "index.hpp"

// Searches and trainings have a thread each; more would take the cores from the stage, and OpenBLAS's waiting threads made a batch
// five times slower on busy ones.
extern "C" void openblas_set_num_threads(int);

namespace precedent {

namespace {

/** work() runs on another thread, answer() makes its result for JavaScript. */
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
    // A setting of each thread.
    omp_set_num_threads(1);
    std::string message;
    try {
      return work_();
    } catch (const std::exception& error) {
      message = error.what();
    } catch (...) {
    }
    // Never empty, which would mean that all went well.
    SetError(message.empty() ? "FAISS failed" : message);
  }
  void OnOK() override {
    try {
      deferred_.Resolve(answer_(Env()));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    } catch (const std::exception& error) {
      deferred_.Reject(Napi::Error::New(Env(), error.what()).Value());
    }
  }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Task(Napi::Env env, Work work, Answer answer)
      : AsyncWorker(env), deferred_(env), work_(std::move(work)), answer_(std::move(answer)) {}
  Napi::Promise::Deferred deferred_;
  Work work_;
  Answer answer_;
};

/** Sums of 65,536 products of such numbers are finite. */
constexpr float largest_number = 1e15f;
/** Numbers that one search gives back. */
constexpr size_t most_found = size_t{1} << 26;
constexpr size_t most_lists = size_t{1} << 20, most_points = size_t{1} << 16, most_iterations = 1000, most_note = size_t{1} << 20;

const auto undefined = [](Napi::Env env) { return env.Undefined(); };

template <class Array, class Number>
std::vector<Number> numbers(const Napi::CallbackInfo& info, size_t at, napi_typedarray_type type, const char* what) {
  if (!info[at].IsTypedArray() || info[at].As<Napi::TypedArray>().TypedArrayType() != type)
    throw Napi::TypeError::New(info.Env(), std::string(what) + " must be a typed array of its kind");
  const Array array = info[at].As<Array>();
  return std::vector<Number>(array.Data(), array.Data() + array.ElementLength());
}
std::vector<uint32_t> keys_at(const Napi::CallbackInfo& info, size_t at) {
  return numbers<Napi::Uint32Array, uint32_t>(info, at, napi_uint32_array, "keys");
}
std::vector<float> vectors_at(const Napi::CallbackInfo& info, size_t at) {
  std::vector<float> vectors = numbers<Napi::Float32Array, float>(info, at, napi_float32_array, "vectors");
  // Where a product is no number, no list is the nearest and no order is one.
  for (float number : vectors)
    if (!(std::fabs(number) <= largest_number))
      throw Napi::RangeError::New(info.Env(), "vectors must hold numbers from -1e15 to 1e15");
  return vectors;
}
size_t count_at(const Napi::CallbackInfo& info, size_t at, const char* what, size_t least = 0, size_t most = UINT32_MAX) {
  const double value = info[at].IsNumber() ? info[at].As<Napi::Number>().DoubleValue() : NAN;
  // Written so that NaN fails.
  if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value))
    throw Napi::RangeError::New(info.Env(), std::string(what) + " must be a whole number from " + std::to_string(least) +
                                                " to " + std::to_string(most));
  return static_cast<size_t>(value);
}
std::string text_at(const Napi::CallbackInfo& info, size_t at, const char* what, size_t most) {
  if (!info[at].IsString()) throw Napi::TypeError::New(info.Env(), std::string(what) + " must be a string");
  std::string text = info[at].As<Napi::String>().Utf8Value();
  if (text.size() > most) throw Napi::RangeError::New(info.Env(), std::string(what) + " is too long");
  return text;
}
/** The system would end it at a NUL. */
std::string file_at(const Napi::CallbackInfo& info, size_t at) {
  std::string file = text_at(info, at, "file", 4096);
  if (file.find('\0') != std::string::npos) throw Napi::TypeError::New(info.Env(), "file is no path");
  return file;
}

template <class Array, class Number>
Array array_of(Napi::Env env, const std::vector<Number>& values) {
  Array array = Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

class NativeIndex : public Napi::ObjectWrap<NativeIndex> {
 public:
  static void declare(Napi::Env env, Napi::Object exports) {
    const Napi::Function constructor = DefineClass(
        env, "Index",
        {InstanceMethod<&NativeIndex::add>("add"), InstanceMethod<&NativeIndex::remove>("remove"),
         InstanceMethod<&NativeIndex::search>("search"), InstanceMethod<&NativeIndex::probe>("probe"),
         InstanceMethod<&NativeIndex::sample>("sample"), InstanceMethod<&NativeIndex::rebuild>("rebuild"),
         InstanceMethod<&NativeIndex::save>("save"), InstanceMethod<&NativeIndex::restore>("restore"),
         InstanceMethod<&NativeIndex::drop>("drop"), InstanceAccessor<&NativeIndex::size>("size"),
         InstanceAccessor<&NativeIndex::lists>("lists"), InstanceAccessor<&NativeIndex::bytes>("bytes")});
    exports.Set("Index", constructor);
  }

  /** (dimension) */
  explicit NativeIndex(const Napi::CallbackInfo& info)
      : ObjectWrap(info), dimension_(count_at(info, 0, "dimension", 1, 65536)) {
    index_ = std::make_shared<Index>(std::make_unique<Content>(dimension_, std::vector<float>{}));
  }

 private:
  /** Lets go of the content now; what runs keeps it until it ends. Every later call throws. */
  Napi::Value drop(const Napi::CallbackInfo& info) {
    index_.reset();
    return info.Env().Undefined();
  }

  /** (keys, vectors) -> Promise<void> */
  Napi::Value add(const Napi::CallbackInfo& info) {
    auto keys = keys_at(info, 0);
    auto vectors = vectors_at(info, 1);
    if (vectors.size() != keys.size() * dimension_)
      throw Napi::RangeError::New(info.Env(), "there must be as many vectors as keys, of the index's dimension");
    return Task::start(
        info.Env(),
        [index = open(info), keys = std::move(keys), vectors = std::move(vectors)] {
          index->add(keys.data(), vectors.data(), keys.size());
        },
        undefined);
  }

  /** (keys) -> Promise<void> */
  Napi::Value remove(const Napi::CallbackInfo& info) {
    return Task::start(
        info.Env(), [index = open(info), keys = keys_at(info, 0)] { index->remove(keys.data(), keys.size()); }, undefined);
  }

  /** (queries, k, probes) -> {keys, similarities, counts} */
  Napi::Value search(const Napi::CallbackInfo& info) {
    const auto queries = vectors_at(info, 0);
    if (queries.size() % dimension_ != 0) throw Napi::RangeError::New(info.Env(), "queries must have the index's dimension");
    const auto index = open(info);
    const size_t count = queries.size() / dimension_, k = count_at(info, 1, "k");
    if (count * std::min(k, index->size()) > most_found) throw Napi::RangeError::New(info.Env(), "one search finds too many");
    const Found found = index->search(queries.data(), count, k, count_at(info, 2, "probes"));
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("keys", array_of<Napi::Uint32Array>(info.Env(), found.keys));
    result.Set("similarities", array_of<Napi::Float32Array>(info.Env(), found.similarities));
    result.Set("counts", array_of<Napi::Uint32Array>(info.Env(), found.counts));
    return result;
  }

  /** (query, k) -> Promise<{keys, ranks}> */
  Napi::Value probe(const Napi::CallbackInfo& info) {
    auto query = vectors_at(info, 0);
    if (query.size() != dimension_) throw Napi::RangeError::New(info.Env(), "the query must have the index's dimension");
    const auto probed = std::make_shared<Probed>();
    return Task::start(
        info.Env(),
        [index = open(info), query = std::move(query), k = count_at(info, 1, "k"), probed] {
          *probed = index->probe(query.data(), k);
        },
        [probed](Napi::Env env) -> Napi::Value {
          Napi::Object result = Napi::Object::New(env);
          result.Set("keys", array_of<Napi::Uint32Array>(env, probed->keys));
          result.Set("ranks", array_of<Napi::Uint32Array>(env, probed->ranks));
          return result;
        });
  }

  /** (n) -> Promise<vectors> */
  Napi::Value sample(const Napi::CallbackInfo& info) {
    const auto vectors = std::make_shared<std::vector<float>>();
    return Task::start(
        info.Env(), [index = open(info), n = count_at(info, 0, "n"), vectors] { *vectors = index->sample(n); },
        [vectors](Napi::Env env) -> Napi::Value { return array_of<Napi::Float32Array>(env, *vectors); });
  }

  /** (lists, pointsPerList, iterations, seed) -> Promise<void> */
  Napi::Value rebuild(const Napi::CallbackInfo& info) {
    const Training training{count_at(info, 1, "pointsPerList", 1, most_points),
                            static_cast<int>(count_at(info, 2, "iterations", 1, most_iterations)),
                            static_cast<int>(count_at(info, 3, "seed", 0, INT32_MAX))};
    return Task::start(
        info.Env(),
        [index = open(info), lists = count_at(info, 0, "lists", 0, most_lists), training] { index->rebuild(lists, training); }, undefined);
  }

  /** (file, note) -> Promise<void> */
  Napi::Value save(const Napi::CallbackInfo& info) {
    return Task::start(
        info.Env(),
        [index = open(info), file = file_at(info, 0), note = text_at(info, 1, "note", most_note)] { index->save(file, note); },
        undefined);
  }

  /** (file) -> Promise<note>; the content becomes that of the file, the old one stays when that fails. */
  Napi::Value restore(const Napi::CallbackInfo& info) {
    open(info);
    const auto restored = std::make_shared<Restored>();
    auto self = std::make_shared<Napi::ObjectReference>(Napi::Persistent(info.This().As<Napi::Object>()));
    return Task::start(
        info.Env(),
        [file = file_at(info, 0), dimension = dimension_, restored] {
          *restored = precedent::restore(file, dimension);
        },
        [this, self, restored](Napi::Env env) -> Napi::Value {
          // Dropped meanwhile, it stays so.
          if (index_ != nullptr) index_ = std::move(restored->index);
          return Napi::String::New(env, restored->note);
        });
  }

  Napi::Value size(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(open(info)->size()));
  }
  Napi::Value lists(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(open(info)->lists()));
  }
  Napi::Value bytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(open(info)->bytes()));
  }

  std::shared_ptr<Index> open(const Napi::CallbackInfo& info) const {
    if (index_ == nullptr) throw Napi::Error::New(info.Env(), "the index was dropped");
    return index_;
  }

  const size_t dimension_;
  std::shared_ptr<Index> index_;
};

}  // namespace

Napi::Object declare(Napi::Env env, Napi::Object exports) {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
  NativeIndex::declare(env, exports);
  exports.Set("stopTraining", Napi::Function::New(env, [](const Napi::CallbackInfo&) { stop_training(); }));
  exports.Set("useFastProducts", Napi::Function::New(env, [](const Napi::CallbackInfo& info) {
    use_fast_products(info[0].ToBoolean());
  }));
  exports.Set("productsInUse", Napi::Function::New(env, [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), products_in_use());
  }));
  return exports;
}

NODE_API_MODULE(precedent_faiss, declare)

}  // namespace precedent
