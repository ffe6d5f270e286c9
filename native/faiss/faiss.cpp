// faiss-node's addon against libfaiss 1.7.3, which still keeps idx_t inside Index, where faiss-node does not look.
#include <faiss/Index.h>
#include <omp.h>
namespace faiss { using idx_t = Index::idx_t; }
#include "faiss.cc"

// One thread: the stage's other work needs the cores, and OpenBLAS's waiting threads made a batch five times slower on busy ones.
extern "C" void openblas_set_num_threads(int);
static const bool single_threaded = (omp_set_num_threads(1), openblas_set_num_threads(1), true);
