#include "memory.hpp"

#include <cstring>

// It has its own idea of the version, and the headers of Node-API are read already.
#undef NAPI_VERSION
#include <node.h>
#include <node_buffer.h>

#include "../core/failure.hpp"

namespace precedent {

namespace {

// As Node-API itself converts them (js_native_api_v8.h).
v8::Local<v8::Value> localOf(napi_value value) {
  v8::Local<v8::Value> local;
  static_assert(sizeof(local) == sizeof(value), "a napi_value is a local handle");
  std::memcpy(static_cast<void*>(&local), &value, sizeof(local));
  return local;
}

}  // namespace

SharedBytes sharedBytesOf(const Napi::Value& value, const char* what) {
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array,
          std::string(what) + " must be a Uint8Array");
  const v8::Local<v8::ArrayBufferView> view = localOf(value).As<v8::ArrayBufferView>();
  std::shared_ptr<v8::BackingStore> store = view->Buffer()->GetBackingStore();
  require(!store->IsResizableByUserJavaScript(), std::string(what) + " must not lie in a buffer that can be resized");
  const size_t offset = view->ByteOffset(), size = view->ByteLength();
  require(offset <= store->ByteLength() && size <= store->ByteLength() - offset, std::string(what) + " was transferred");
  const uint8_t* data = static_cast<const uint8_t*>(store->Data());
  return {data == nullptr ? nullptr : data + offset, size, std::move(store)};
}

Napi::Value bufferOf(Napi::Env env, Bytes& bytes) {
  // V8 ends the process for more.
  require(bytes.size <= node::Buffer::kMaxLength, "a chunk cache has " + std::to_string(bytes.size) + " bytes, more than a Buffer holds",
          "decode_failed");
  v8::Isolate* isolate = v8::Isolate::GetCurrent();
  const size_t size = bytes.size;
  auto store = v8::ArrayBuffer::NewBackingStore(
      bytes.data.release(), size, [](void* data, size_t, void*) { delete[] static_cast<uint8_t*>(data); }, nullptr);
  v8::Local<v8::Uint8Array> buffer;
  if (!node::Buffer::New(isolate, v8::ArrayBuffer::New(isolate, std::move(store)), 0, size).ToLocal(&buffer))
    fail("decode_failed", "JavaScript has no room for " + std::to_string(size) + " bytes");
  napi_value value;
  std::memcpy(&value, static_cast<void*>(&buffer), sizeof(value));
  return Napi::Value(env, value);
}

void atExit(Napi::Env, void (*stop)(void*), void* argument) {
  node::AtExit(node::GetCurrentEnvironment(v8::Isolate::GetCurrent()->GetCurrentContext()), stop, argument);
}

}  // namespace precedent
