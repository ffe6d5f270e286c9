// Between JavaScript's values and the core's. Whatever has the wrong type throws an Error with the code invalid_argument; the typed
// wrapper (connections/llama) makes sure that this is a bug.
#pragma once

#include <string>
#include <vector>

#include <napi.h>

#include "../core/engine.hpp"

namespace precedent {

// A whole number of this range.
int64_t integerOf(const Napi::Value& value, const char* what, int64_t least = INT32_MIN, int64_t most = INT32_MAX);
int64_t integerOf(const Napi::Object& from, const char* key, int64_t least = INT32_MIN, int64_t most = INT32_MAX);
double numberOf(const Napi::Object& from, const char* key);
bool booleanOf(const Napi::Object& from, const char* key);
std::string textOf(const Napi::Object& from, const char* key);
std::string pathOf(const Napi::Value& value, const char* what);
std::vector<std::string> pathsOf(const Napi::Value& value, const char* what);
Napi::Object objectOf(const Napi::Object& from, const char* key);
std::vector<int32_t> integersOf(const Napi::Object& from, const char* key);  // an Int32Array
std::vector<int32_t> integersOf(const Napi::Value& value, const char* what);
std::vector<Range> rangesOf(const Napi::Object& from, const char* key);  // an Int32Array of pairs

// [{blob: Uint8Array, position}], at most so many; they own the bytes.
std::vector<Link> linksOf(const Napi::Object& from, const char* key, size_t most);

ggml_type kvTypeOf(const std::string& name);
ContextOptions contextOptionsOf(const Napi::Object& from);
Job jobOf(const Napi::Object& from);

Napi::Value resultValue(Napi::Env env, JobResult& result);
Napi::Value floatsValue(Napi::Env env, const std::vector<float>& values);
Napi::Value integersValue(Napi::Env env, const std::vector<int32_t>& values);
Napi::Value factsValue(Napi::Env env, const ModelFacts& facts);
Napi::Value reasonValue(Napi::Env env, const std::string& reason);  // null for ""
Napi::Value ropeValue(Napi::Env env, const Rope& rope);
Napi::Value formatValue(Napi::Env env, const BlobFormat& format);
Napi::Value headerValue(Napi::Env env, const BlobView& blob);

}  // namespace precedent
