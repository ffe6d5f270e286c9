// faiss::IndexFlatIP as it comes, for bench -- selection: Flat(dimension), add(vectors), search(query, k) -> {keys, similarities}.
#include <faiss/IndexFlat.h>
#include <napi.h>
#include <omp.h>

#include <memory>
#include <vector>

extern "C" void openblas_set_num_threads(int);

class Flat : public Napi::ObjectWrap<Flat> {
 public:
  static Napi::Object declare(Napi::Env env, Napi::Object exports) {
    omp_set_num_threads(1);
    openblas_set_num_threads(1);
    exports.Set("Flat", DefineClass(env, "Flat", {InstanceMethod<&Flat::add>("add"), InstanceMethod<&Flat::search>("search")}));
    return exports;
  }
  explicit Flat(const Napi::CallbackInfo& info) : ObjectWrap(info), index_(info[0].As<Napi::Number>().Int64Value()) {}

 private:
  Napi::Value add(const Napi::CallbackInfo& info) {
    const auto vectors = info[0].As<Napi::Float32Array>();
    index_.add(static_cast<faiss::Index::idx_t>(vectors.ElementLength() / index_.d), vectors.Data());
    return info.Env().Undefined();
  }
  Napi::Value search(const Napi::CallbackInfo& info) {
    const auto query = info[0].As<Napi::Float32Array>();
    const auto k = static_cast<size_t>(info[1].As<Napi::Number>().Int64Value());
    std::vector<faiss::Index::idx_t> labels(k);
    Napi::Float32Array similarities = Napi::Float32Array::New(info.Env(), k);
    index_.search(1, query.Data(), static_cast<faiss::Index::idx_t>(k), similarities.Data(), labels.data());
    Napi::Uint32Array keys = Napi::Uint32Array::New(info.Env(), k);
    for (size_t i = 0; i < k; i++) keys[i] = static_cast<uint32_t>(labels[i]);
    Napi::Object found = Napi::Object::New(info.Env());
    found.Set("keys", keys);
    found.Set("similarities", similarities);
    return found;
  }
  faiss::IndexFlatIP index_;
};

Napi::Object declare(Napi::Env env, Napi::Object exports) { return Flat::declare(env, exports); }
NODE_API_MODULE(flat, declare)
