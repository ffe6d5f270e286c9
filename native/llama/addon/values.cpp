#include "values.hpp"

#include <cmath>

#include "../core/failure.hpp"
#include "memory.hpp"

namespace precedent {

namespace {

Napi::Value get(const Napi::Object& from, const char* key) { return from.Get(key); }

std::string hexOf(const uint8_t* bytes, size_t count) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

std::string hexOf(uint64_t number) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(number >> (56 - 8 * i));
  return hexOf(bytes, 8);
}

// A header may say anything.
std::string kvTypeName(uint32_t type) {
  const char* name = type < GGML_TYPE_COUNT ? ggml_type_name(static_cast<ggml_type>(type)) : nullptr;
  return name == nullptr ? "unknown" : name;
}

constexpr uint32_t mostStops = 4096;

}  // namespace

int64_t integerOf(const Napi::Value& value, const char* what, int64_t least, int64_t most) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  // Written so that NaN fails; the bounds are exact as doubles.
  require(number >= static_cast<double>(least) && number <= static_cast<double>(most) && number == std::floor(number),
          std::string(what) + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int64_t>(number);
}

int64_t integerOf(const Napi::Object& from, const char* key, int64_t least, int64_t most) {
  return integerOf(get(from, key), key, least, most);
}

double numberOf(const Napi::Object& from, const char* key) {
  const Napi::Value value = get(from, key);
  require(value.IsNumber(), std::string(key) + " must be a number");
  return value.As<Napi::Number>().DoubleValue();
}

bool booleanOf(const Napi::Object& from, const char* key) {
  const Napi::Value value = get(from, key);
  require(value.IsBoolean(), std::string(key) + " must be true or false");
  return value.As<Napi::Boolean>().Value();
}

std::string textOf(const Napi::Object& from, const char* key) {
  const Napi::Value value = get(from, key);
  require(value.IsString(), std::string(key) + " must be a string");
  return value.As<Napi::String>().Utf8Value();
}

// The system would end it at a NUL.
std::string pathOf(const Napi::Value& value, const char* what) {
  require(value.IsString(), std::string(what) + " must be a string");
  std::string path = value.As<Napi::String>().Utf8Value();
  require(path.size() <= 4096 && path.find('\0') == std::string::npos, std::string(what) + " is no path");
  return path;
}

std::vector<std::string> pathsOf(const Napi::Value& value, const char* what) {
  require(value.IsArray(), std::string(what) + " must be an array");
  const Napi::Array array = value.As<Napi::Array>();
  require(array.Length() <= 16, std::string(what) + " has more than 16 entries");
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < array.Length(); ++i) paths.push_back(pathOf(array[i], what));
  return paths;
}

Napi::Object objectOf(const Napi::Object& from, const char* key) {
  const Napi::Value value = get(from, key);
  require(value.IsObject(), std::string(key) + " must be an object");
  return value.As<Napi::Object>();
}

std::vector<int32_t> integersOf(const Napi::Value& value, const char* what) {
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array,
          std::string(what) + " must be an Int32Array");
  const Napi::Int32Array array = value.As<Napi::Int32Array>();
  return std::vector<int32_t>(array.Data(), array.Data() + array.ElementLength());
}

std::vector<int32_t> integersOf(const Napi::Object& from, const char* key) { return integersOf(get(from, key), key); }

std::vector<Range> rangesOf(const Napi::Object& from, const char* key) {
  const std::vector<int32_t> flat = integersOf(from, key);
  require(flat.size() % 2 == 0, std::string(key) + " must hold pairs");
  std::vector<Range> ranges;
  for (size_t i = 0; i < flat.size(); i += 2) ranges.push_back({flat[i], flat[i + 1]});
  return ranges;
}

std::vector<Link> linksOf(const Napi::Object& from, const char* key, size_t most) {
  const Napi::Value value = get(from, key);
  require(value.IsArray(), std::string(key) + " must be an array");
  const Napi::Array array = value.As<Napi::Array>();
  require(array.Length() <= most, std::string(key) + " has more entries than there are tokens");
  std::vector<Link> links;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Value entry = array[i];
    require(entry.IsObject(), std::string(key) + " must hold objects");
    const Napi::Object link = entry.As<Napi::Object>();
    const SharedBytes bytes = sharedBytesOf(link.Get("blob"), "a blob");
    links.push_back({BlobView(bytes.data, bytes.size), static_cast<int>(integerOf(link, "position")), bytes.owner});
  }
  return links;
}

ggml_type kvTypeOf(const std::string& name) {
  if (name == "f32") return GGML_TYPE_F32;
  if (name == "f16") return GGML_TYPE_F16;
  require(name == "q8_0", "the KV type must be f32, f16 or q8_0");
  return GGML_TYPE_Q8_0;
}

ContextOptions contextOptionsOf(const Napi::Object& from) {
  ContextOptions options;
  options.contextTokens = static_cast<int>(integerOf(from, "contextTokens"));
  options.sequences = static_cast<int>(integerOf(from, "sequences"));
  options.threads = static_cast<int>(integerOf(from, "threads"));
  options.flashAttention = booleanOf(from, "flashAttention");
  options.kvType = kvTypeOf(textOf(from, "kvType"));
  options.batchTokens = static_cast<int>(integerOf(from, "batchTokens"));
  return options;
}

Job jobOf(const Napi::Object& from) {
  Job job;
  job.tokens = integersOf(from, "tokens");
  job.links = linksOf(from, "links", job.tokens.size());
  job.recompute = rangesOf(from, "recompute");
  job.exports = rangesOf(from, "exports");
  job.logitsAt = integersOf(from, "logitsAt");
  job.maxTokens = static_cast<int>(integerOf(from, "maxTokens", 0));
  job.sampling.temperature = static_cast<float>(numberOf(from, "temperature"));
  job.sampling.topP = static_cast<float>(numberOf(from, "topP"));
  job.sampling.seed = static_cast<uint32_t>(integerOf(from, "seed", 0, UINT32_MAX));
  const Napi::Value stops = from.Get("stops");
  require(stops.IsArray(), "stops must be an array");
  const Napi::Array texts = stops.As<Napi::Array>();
  require(texts.Length() <= mostStops, "there are at most 4096 stops");
  for (uint32_t i = 0; i < texts.Length(); ++i) {
    const Napi::Value text = texts[i];
    require(text.IsString(), "stops must be strings");
    job.stops.push_back(text.As<Napi::String>().Utf8Value());
  }
  return job;
}

Napi::Value floatsValue(Napi::Env env, const std::vector<float>& values) {
  Napi::Float32Array array = Napi::Float32Array::New(env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(float));
  return array;
}

Napi::Value integersValue(Napi::Env env, const std::vector<int32_t>& values) {
  Napi::Int32Array array = Napi::Int32Array::New(env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(int32_t));
  return array;
}

Napi::Value resultValue(Napi::Env env, JobResult& result) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("text", result.text);
  value.Set("generated", integersValue(env, result.generated));
  value.Set("finish", result.finish == Finish::none ? "none" : result.finish == Finish::stop ? "stop" : "length");
  value.Set("linked", result.linked);
  value.Set("recomputed", result.recomputed);
  value.Set("prefilled", result.prefilled);
  value.Set("runs", result.runs);
  Napi::Array blobs = Napi::Array::New(env, result.blobs.size());
  for (uint32_t i = 0; i < result.blobs.size(); ++i) blobs.Set(i, bufferOf(env, result.blobs[i]));
  value.Set("blobs", blobs);
  value.Set("logits", floatsValue(env, result.logits));
  Napi::Object timings = Napi::Object::New(env);
  const Timings& times = result.timings;
  timings.Set("queuedMs", times.queued);
  timings.Set("linkedMs", times.linked);
  timings.Set("prefilledMs", times.prefilled);
  timings.Set("firstMs", times.first);
  timings.Set("totalMs", times.total);
  timings.Set("cpuFirstMs", times.cpuFirst);
  timings.Set("exportedMs", times.exported);
  value.Set("timings", timings);
  return value;
}

Napi::Value ropeValue(Napi::Env env, const Rope& rope) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("type", rope.neox ? "neox" : "norm");
  value.Set("dimensions", rope.dimensions);
  value.Set("base", rope.base);
  value.Set("scale", rope.scale);
  value.Set("scaling", rope.scaling);
  value.Set("extrapolation", rope.extrapolation);
  value.Set("betaFast", rope.betaFast);
  value.Set("betaSlow", rope.betaSlow);
  value.Set("originalContext", rope.originalContext);
  value.Set("factors", rope.factors);
  value.Set("hash", hexOf(rope.hash()));
  return value;
}

Napi::Value factsValue(Napi::Env env, const ModelFacts& facts) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("name", facts.name);
  value.Set("architecture", facts.architecture);
  value.Set("description", facts.description);
  value.Set("chatTemplate", facts.chatTemplate);
  value.Set("layers", facts.layers);
  value.Set("heads", facts.heads);
  value.Set("keyHeads", facts.keyHeads);
  value.Set("headDimension", facts.headDimension);
  value.Set("valueDimension", facts.valueDimension);
  value.Set("embedding", facts.embedding);
  value.Set("vocabulary", facts.vocabulary);
  value.Set("trainContext", facts.trainContext);
  value.Set("parameters", static_cast<double>(facts.parameters));
  value.Set("bytes", static_cast<double>(facts.bytes));
  value.Set("bos", facts.bos);
  value.Set("eos", facts.eos);
  value.Set("addBos", facts.addBos);
  Napi::Array devices = Napi::Array::New(env);
  for (uint32_t i = 0; i < facts.devices.size(); ++i) devices.Set(i, facts.devices[i]);
  value.Set("devices", devices);
  value.Set("linkable", facts.unlinkable.empty());
  value.Set("unlinkable", reasonValue(env, facts.unlinkable));
  return value;
}

Napi::Value reasonValue(Napi::Env env, const std::string& reason) {
  if (reason.empty()) return env.Null();
  return Napi::String::New(env, reason);
}

Napi::Value formatValue(Napi::Env env, const BlobFormat& format) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("fingerprint", hexOf(format.fingerprint.data(), format.fingerprint.size()));
  value.Set("ropeHash", hexOf(format.ropeHash));
  value.Set("kvType", kvTypeName(format.kvType));
  value.Set("flashAttention", format.flashAttention != 0);
  value.Set("layers", format.layers);
  value.Set("tokenBytes", static_cast<double>(format.layers) * (format.keyRowBytes + format.valueRowBytes));
  return value;
}

Napi::Value headerValue(Napi::Env env, const BlobView& blob) {
  const BlobHeader& header = blob.header();
  BlobFormat format;
  std::memcpy(format.fingerprint.data(), header.fingerprint, sizeof(header.fingerprint));
  format.ropeHash = header.ropeHash;
  format.kvType = header.kvType;
  format.flashAttention = header.flashAttention;
  format.layers = header.layers;
  format.keyRowBytes = header.keyRowBytes;
  format.valueRowBytes = header.valueRowBytes;
  Napi::Object value = formatValue(env, format).As<Napi::Object>();
  value.Set("first", header.first);
  std::vector<int32_t> tokens;
  for (int i = 0; i < blob.tokens(); ++i) tokens.push_back(blob.token(i));
  value.Set("tokens", integersValue(env, tokens));
  return value;
}

}  // namespace precedent
