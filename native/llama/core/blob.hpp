// A chunk cache: keys and values of a run of tokens, in a layout of our own, little-endian, that no setting of llama.cpp changes.
//
//   header (BlobHeader, 128 bytes) | token ids, i32, padded with zeros to 64 bytes | per layer: keys of all tokens, values of all tokens
//
// Rows are those of the KV type, one a token, in the order of the tokens; keys are rotated for the positions first, first + 1, ...
// Whether the payload is what it was is the store's to check (a checksum of the whole); here only that it fits.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "model.hpp"

namespace precedent {

struct BlobHeader {
  char magic[8];            // "PRECKV1\0"
  uint32_t version;         // 1
  uint32_t headerBytes;     // 128
  uint8_t fingerprint[32];  // of the model's file
  uint64_t ropeHash;
  uint32_t kvType;          // ggml_type: 0 f32, 1 f16, 8 q8_0
  uint32_t flashAttention;  // 0 or 1: of the context that computed it
  uint32_t layers;
  uint32_t keyRowBytes, valueRowBytes;
  uint32_t tokens;
  int32_t first;            // position of the first token
  uint32_t reserved[11];
};
static_assert(sizeof(BlobHeader) == 128, "the layout is written to disk");

// What a context can link; equal formats make exchangeable chunk caches.
struct BlobFormat {
  Fingerprint fingerprint{};
  uint64_t ropeHash = 0;
  uint32_t kvType = 0, flashAttention = 0, layers = 0, keyRowBytes = 0, valueRowBytes = 0;

  size_t bytes(size_t tokens) const;
  static size_t payloadOffset(size_t tokens);
};

// Bytes that are written once by us; unlike a vector they are not cleared first.
struct Bytes {
  std::unique_ptr<uint8_t[]> data;
  size_t size = 0;
  static Bytes ofSize(size_t size) { return {std::unique_ptr<uint8_t[]>(new uint8_t[size]), size}; }
};

// Reads a blob that someone else owns.
class BlobView {
public:
  // Throws blob_corrupt; what it reads afterwards lies within `size`.
  BlobView(const uint8_t * data, size_t size);
  const BlobHeader & header() const { return header_; }
  int tokens() const { return static_cast<int>(header_.tokens); }
  Token token(int i) const;
  const uint8_t * keys(int layer) const;
  const uint8_t * values(int layer) const;
  // Throws blob_foreign. A scoring context, which never serves, takes blobs of either flash-attention setting.
  void check(const BlobFormat & format, bool anyAttention = false) const;

private:
  const uint8_t * data_;
  BlobHeader header_;
  size_t payload_;
};

// A blob with its header and token ids; keysOf and valuesOf say where the rows go.
Bytes createBlob(const BlobFormat & format, const Token * tokens, int count, int first);
uint8_t * blobKeys(Bytes & blob, const BlobFormat & format, int count, int layer);
uint8_t * blobValues(Bytes & blob, const BlobFormat & format, int count, int layer);

}  // namespace precedent
