// What an index holds: keys and vectors in lists. Exact: one list, single precision. Clustered: a list a centroid, 8 bits a number
// (eight-bit.hpp): what a search costs is its way through memory. A million vectors of 384 take 0.4 GB. No locks in here; Index
// (index.hpp) has them.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <faiss/IndexFlat.h>

#include "buffer.hpp"
#include "kernel.hpp"

namespace precedent {

/** A query as both kinds of content take it; `vector` is the caller's, d numbers. */
struct Query {
  Query(const float* vector, size_t d);
  const float* vector;
  CoarseQuery coarse;
};

class Content {
 public:
  /** centroids: lists x dimension, row-major; none: an exact content. */
  Content(size_t dimension, const std::vector<float>& centroids);

  size_t dimension() const { return dimension_; }
  size_t size() const { return places_.size(); }
  size_t lists() const { return lists_.size(); }
  bool exact() const { return quantizer_ == nullptr; }
  size_t list_size(size_t list) const { return lists_[list].keys.size(); }
  const Buffer<uint32_t>& keys(size_t list) const { return lists_[list].keys; }
  std::vector<float> centroids() const;
  /** Bytes of vectors and keys. */
  size_t bytes() const;

  /** Vectors as a list holds them. */
  struct Rows {
    /** Exact: n x dimension. */
    Buffer<float> single;
    /** Clustered: what one step is worth, and n x dimension of them. */
    Buffer<float> steps;
    Buffer<int8_t> bytes;
  };

  /** The list of each vector: that of the nearest centroid. */
  std::vector<int64_t> assign(const float* vectors, size_t n) const;
  Rows encode(const float* vectors, size_t n) const;
  void decode(size_t list, size_t offset, float* vector) const;

  /** Adds or replaces by row i. */
  void put(uint32_t key, size_t list, const Rows& rows, size_t i);
  /** How many of them there were. */
  size_t remove(const uint32_t* keys, size_t n);
  /** list << 32 | offset; -1: not there. */
  int64_t find(uint32_t key) const;
  /** So many keys are about to come. */
  void expect(size_t n) { places_.reserve(size() + n); }

  /** The `count` lists whose centroids are nearest to the query, nearest first. */
  std::vector<uint32_t> nearest_lists(const float* query, size_t count) const;
  /**
   * The `room` best of a list into a heap of as many (see faiss/utils/Heap.h) whose smallest stands first. A label is the key, with the
   * list in its upper half.
   */
  void scan(const Query& query, size_t list, size_t room, float* best, int64_t* labels) const;

  /** Calls visit(data, bytes) for each part of a list, in a fixed order: what a file holds of it beside its size. */
  template <class Visit>
  void each_part(size_t list, Visit visit) const {
    each(lists_[list], visit);
  }
  /** Fills an empty list with n by read(data, bytes) of the same parts. Throws when a key is there twice. */
  template <class Read>
  void fill(size_t list, size_t n, Read read) {
    lists_[list].keys.resize(n);
    resize(lists_[list].rows, n);
    each(lists_[list], read);
    enter(list);
  }
  /** Bytes of each vector in a file, without its key. */
  static size_t bytes_a_vector(size_t dimension, bool exact) { return exact ? 4 * dimension : 4 + dimension; }

 private:
  struct List {
    Buffer<uint32_t> keys;
    Rows rows;
  };
  void resize(Rows& rows, size_t n) const;
  /** Row `from` of one over row `to` of another. */
  void copy(const Rows& source, size_t from, Rows& rows, size_t to) const;
  void enter(size_t list);
  template <class Of, class Visit>
  static void each(Of& list, Visit visit) {
    visit(list.keys.data(), list.keys.size() * sizeof(uint32_t));
    visit(list.rows.single.data(), list.rows.single.size() * sizeof(float));
    visit(list.rows.steps.data(), list.rows.steps.size() * sizeof(float));
    visit(list.rows.bytes.data(), list.rows.bytes.size());
  }

  size_t dimension_;
  /** null: exact. */
  std::unique_ptr<faiss::IndexFlat> quantizer_;
  std::vector<List> lists_;
  std::unordered_map<uint32_t, uint64_t> places_;
};

}  // namespace precedent
