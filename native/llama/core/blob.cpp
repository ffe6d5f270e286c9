#include "blob.hpp"

#include <string>

#include "failure.hpp"

namespace precedent {

namespace {

constexpr char magic[8] = "PRECKV1";
constexpr uint32_t version = 1;
// Beyond these a header is nonsense, and products of its fields could overflow.
constexpr uint32_t mostTokens = 1u << 24, mostLayers = 4096, mostRowBytes = 1u << 24;

}  // namespace

size_t BlobFormat::payloadOffset(size_t tokens) { return (sizeof(BlobHeader) + tokens * sizeof(Token) + 63) / 64 * 64; }

size_t BlobFormat::bytes(size_t tokens) const {
  return payloadOffset(tokens) + tokens * layers * (static_cast<size_t>(keyRowBytes) + valueRowBytes);
}

BlobView::BlobView(const uint8_t * data, size_t size) : data_(data) {
  const auto corrupt = [](const std::string & why) { fail("blob_corrupt", "not a chunk cache: " + why); };
  if (data == nullptr || size < sizeof(BlobHeader)) corrupt(std::to_string(size) + " bytes are too few");
  std::memcpy(&header_, data, sizeof(BlobHeader));
  if (std::memcmp(header_.magic, magic, sizeof(magic)) != 0) corrupt("it does not begin with PRECKV1");
  if (header_.version != version || header_.headerBytes != sizeof(BlobHeader)) corrupt("version " + std::to_string(header_.version));
  if (header_.tokens == 0 || header_.tokens > mostTokens || header_.layers == 0 || header_.layers > mostLayers ||
    header_.keyRowBytes == 0 || header_.keyRowBytes > mostRowBytes || header_.valueRowBytes == 0 ||
    header_.valueRowBytes > mostRowBytes || header_.first < 0)
    corrupt("its header contradicts itself");
  payload_ = BlobFormat::payloadOffset(header_.tokens);
  const size_t rows = static_cast<size_t>(header_.tokens) * header_.layers;
  const size_t expected = payload_ + rows * (static_cast<size_t>(header_.keyRowBytes) + header_.valueRowBytes);
  if (size != expected) corrupt("it has " + std::to_string(size) + " bytes instead of " + std::to_string(expected));
}

Token BlobView::token(int i) const {
  Token token;
  std::memcpy(&token, data_ + sizeof(BlobHeader) + static_cast<size_t>(i) * sizeof(Token), sizeof(Token));
  return token;
}

const uint8_t * BlobView::keys(int layer) const {
  const size_t layerBytes = static_cast<size_t>(header_.tokens) * (static_cast<size_t>(header_.keyRowBytes) + header_.valueRowBytes);
  return data_ + payload_ + static_cast<size_t>(layer) * layerBytes;
}

const uint8_t * BlobView::values(int layer) const {
  return keys(layer) + static_cast<size_t>(header_.tokens) * header_.keyRowBytes;
}

void BlobView::check(const BlobFormat & format, bool anyAttention) const {
  const auto foreign = [](const char * what) { fail("blob_foreign", std::string("the chunk cache was made with another ") + what); };
  if (std::memcmp(header_.fingerprint, format.fingerprint.data(), format.fingerprint.size()) != 0) foreign("model");
  if (header_.kvType != format.kvType) foreign("KV type");
  if (!anyAttention && header_.flashAttention != format.flashAttention) foreign("flash-attention setting");
  if (header_.ropeHash != format.ropeHash) foreign("RoPE table");
  if (header_.layers != format.layers || header_.keyRowBytes != format.keyRowBytes || header_.valueRowBytes != format.valueRowBytes)
    foreign("shape");
}

Bytes createBlob(const BlobFormat & format, const Token * tokens, int count, int first) {
  const size_t number = static_cast<size_t>(count);
  Bytes blob = Bytes::ofSize(format.bytes(number));
  BlobHeader header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = version;
  header.headerBytes = sizeof(BlobHeader);
  std::memcpy(header.fingerprint, format.fingerprint.data(), format.fingerprint.size());
  header.ropeHash = format.ropeHash;
  header.kvType = format.kvType;
  header.flashAttention = format.flashAttention;
  header.layers = format.layers;
  header.keyRowBytes = format.keyRowBytes;
  header.valueRowBytes = format.valueRowBytes;
  header.tokens = static_cast<uint32_t>(count);
  header.first = first;
  const size_t payload = BlobFormat::payloadOffset(number);
  std::memset(blob.data.get(), 0, payload);
  std::memcpy(blob.data.get(), &header, sizeof(header));
  std::memcpy(blob.data.get() + sizeof(header), tokens, number * sizeof(Token));
  return blob;
}

uint8_t * blobKeys(Bytes & blob, const BlobFormat & format, int count, int layer) {
  const size_t number = static_cast<size_t>(count);
  const size_t layerBytes = number * (static_cast<size_t>(format.keyRowBytes) + format.valueRowBytes);
  return blob.data.get() + BlobFormat::payloadOffset(number) + static_cast<size_t>(layer) * layerBytes;
}

uint8_t * blobValues(Bytes & blob, const BlobFormat & format, int count, int layer) {
  return blobKeys(blob, format, count, layer) + static_cast<size_t>(count) * format.keyRowBytes;
}

}  // namespace precedent
