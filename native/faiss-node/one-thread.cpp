// A search of one query gains nothing by more threads, and waits for them where other processes keep the cores busy. faiss-node
// has no setting for it, so the thread that loads the addon, the only one that calls it, is set to one.
#include <omp.h>

extern "C" void openblas_set_num_threads(int);

static const bool oneThread = [] {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
  return true;
}();
