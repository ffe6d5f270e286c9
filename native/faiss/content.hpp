// What an index holds: keys and vectors in FAISS's inverted lists. Exact: one list, single precision. Clustered: a list a centroid, half
// precision, so that a million vectors of 384 take 0.8 GB. No locks in here; Index (index.hpp) has them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <faiss/IndexFlat.h>
#include <faiss/IndexIVF.h>
#include <faiss/invlists/InvertedLists.h>

#include "kernel.hpp"

namespace precedent {

/** Searches with FAISS's own loops, as on a processor without AVX2; for tests and measurements. */
void use_fast_products(bool use);
/** What searches compute with: "avx2" or "faiss". */
const char* products_in_use();

class Content {
 public:
  /** centroids: lists x dimension, row-major; none: an exact content. */
  Content(size_t dimension, const std::vector<float>& centroids);

  size_t dimension() const { return dimension_; }
  size_t size() const { return ivf_->ntotal; }
  size_t lists() const { return ivf_->nlist; }
  bool exact() const { return code_ == Code::single; }
  size_t list_size(size_t list) const { return lists_->list_size(list); }
  size_t code_size() const { return ivf_->code_size; }
  const uint8_t* codes(size_t list) const { return lists_->get_codes(list); }
  const int64_t* keys(size_t list) const { return lists_->get_ids(list); }
  std::vector<float> centroids() const;
  /** Bytes of vectors and keys, with what is reserved for more. */
  size_t bytes() const;

  /** The list of each vector: that of the nearest centroid. */
  std::vector<int64_t> assign(const float* vectors, size_t n) const;
  std::vector<uint8_t> encode(const float* vectors, size_t n, const int64_t* lists) const;
  void decode(size_t list, size_t offset, float* vector) const { ivf_->reconstruct_from_offset(list, offset, vector); }

  /** Adds or replaces. */
  void put(uint32_t key, int64_t list, const uint8_t* code);
  /** Appends to a list keys that are nowhere yet. Throws when one is. */
  void append(int64_t list, const uint32_t* keys, const uint8_t* codes, size_t n);
  /** How many of them there were. */
  size_t remove(const uint32_t* keys, size_t n);
  /** list << 32 | offset; -1: not there. */
  int64_t find(uint32_t key) const;
  void reserve(size_t list, size_t n);
  /** So many keys are about to come. */
  void expect(size_t n) { ivf_->direct_map.hashtable.reserve(size() + n); }

  /** The `count` lists whose centroids are nearest to the query, nearest first. */
  std::vector<uint32_t> nearest_lists(const float* query, size_t count) const;
  /**
   * The k best of a list into a heap of k (see faiss/utils/Heap.h) whose smallest stands first. A label is the key, with the list in its
   * upper half.
   */
  void scan(const float* query, size_t list, size_t k, float* best, int64_t* labels) const;

 private:
  size_t dimension_;
  Code code_;
  std::unique_ptr<faiss::IndexFlat> quantizer_;
  std::unique_ptr<faiss::IndexIVF> ivf_;
  /** The same as ivf_->invlists, which owns it. */
  faiss::ArrayInvertedLists* lists_;
};

}  // namespace precedent
