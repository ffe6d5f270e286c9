// The addon: arguments checked and copied, long work on a thread of libuv's pool as a promise, exceptions as errors of JavaScript.
// search() is answered at once in the caller's thread. What may be called when is Index's business (index.hpp); policy is the caller's.
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
    work_();
  }
  void OnOK() override { deferred_.Resolve(answer_(Env())); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Task(Napi::Env env, Work work, Answer answer)
      : AsyncWorker(env), deferred_(env), work_(std::move(work)), answer_(std::move(answer)) {}
  Napi::Promise::Deferred deferred_;
  Work work_;
  Answer answer_;
};

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
  return numbers<Napi::Float32Array, float>(info, at, napi_float32_array, "vectors");
}
size_t count_at(const Napi::CallbackInfo& info, size_t at, const char* what) {
  const double value = info[at].IsNumber() ? info[at].As<Napi::Number>().DoubleValue() : -1;
  if (!(value >= 0 && value <= 0xffffffff) || value != static_cast<double>(static_cast<uint32_t>(value)))
    throw Napi::RangeError::New(info.Env(), std::string(what) + " must be an unsigned integer of 32 bits");
  return static_cast<size_t>(value);
}
std::string text_at(const Napi::CallbackInfo& info, size_t at, const char* what) {
  if (!info[at].IsString()) throw Napi::TypeError::New(info.Env(), std::string(what) + " must be a string");
  return info[at].As<Napi::String>().Utf8Value();
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
  explicit NativeIndex(const Napi::CallbackInfo& info) : ObjectWrap(info), dimension_(count_at(info, 0, "dimension")) {
    if (dimension_ == 0 || dimension_ > 65536) throw Napi::RangeError::New(info.Env(), "dimension must be 1 to 65,536");
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
    const Found found = open(info)->search(queries.data(), queries.size() / dimension_, count_at(info, 1, "k"),
                                           count_at(info, 2, "probes"));
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
    const Training training{count_at(info, 1, "pointsPerList"), static_cast<int>(count_at(info, 2, "iterations")),
                            static_cast<int>(count_at(info, 3, "seed"))};
    return Task::start(
        info.Env(),
        [index = open(info), lists = count_at(info, 0, "lists"), training] { index->rebuild(lists, training); }, undefined);
  }

  /** (file, note) -> Promise<void> */
  Napi::Value save(const Napi::CallbackInfo& info) {
    return Task::start(
        info.Env(),
        [index = open(info), file = text_at(info, 0, "file"), note = text_at(info, 1, "note")] { index->save(file, note); },
        undefined);
  }

  /** (file) -> Promise<note>; the content becomes that of the file, the old one stays when that fails. */
  Napi::Value restore(const Napi::CallbackInfo& info) {
    const auto restored = std::make_shared<Restored>();
    auto self = std::make_shared<Napi::ObjectReference>(Napi::Persistent(info.This().As<Napi::Object>()));
    return Task::start(
        info.Env(),
        [file = text_at(info, 0, "file"), dimension = dimension_, restored] {
          *restored = precedent::restore(file, dimension);
        },
        [this, self, restored](Napi::Env env) -> Napi::Value {
          index_ = std::move(restored->index);
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
