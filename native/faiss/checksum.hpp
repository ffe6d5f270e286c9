#pragma once
#include <cstddef>
#include <cstdint>

namespace precedent {

/** CRC-32C of the bytes, going on from `crc` (0 at first). */
uint32_t crc32c(uint32_t crc, const uint8_t* bytes, size_t n);

}  // namespace precedent
