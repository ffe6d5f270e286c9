// Included before faiss-node's source, which is written for FAISS 1.7.4: Debian's 1.7.3 knows ids by another name.
#pragma once
#include <faiss/Index.h>

#include <cstdint>
#include <type_traits>

namespace faiss {
#if FAISS_VERSION_MAJOR == 1 && (FAISS_VERSION_MINOR < 7 || (FAISS_VERSION_MINOR == 7 && FAISS_VERSION_PATCH < 4))
using idx_t = Index::idx_t;
#endif
static_assert(std::is_same<idx_t, int64_t>::value, "faiss-node reads ids as 64-bit numbers");
}  // namespace faiss
