#include <faiss/Index.h>
namespace faiss { using idx_t = Index::idx_t; }  // 1.7.3 still keeps it inside Index, where faiss-node does not look
#include "faiss.cc"
