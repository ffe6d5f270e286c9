// An index that can be searched while it is changed and while new content is built to replace it.
//
// Two locks. Writers hold `writers_` throughout and `content_lock_` only while lists change;
// searches share `content_lock_`. Assigning vectors to lists, training and copying happen outside
// of it, so a search waits for microseconds.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "content.hpp"

namespace precedent {

struct Found {
  /** For each query k places, of which counts[query] are filled; nearest first. */
  std::vector<uint32_t> keys;
  std::vector<float> similarities;
  std::vector<uint32_t> counts;
};

struct Probed {
  /** The true nearest ones, nearest first. */
  std::vector<uint32_t> keys;
  /** For each, how many lists are nearer to the query than its own: it is found by a search that probes more than that. */
  std::vector<uint32_t> ranks;
};

/** How often stop_training() was called. */
uint64_t trainings_stopped();

struct Training {
  size_t points_per_list;
  int iterations;
  int seed;
  /** Ends with an exception once stop_training() was called since. */
  uint64_t begun = trainings_stopped();
};

class Index {
 public:
  explicit Index(std::unique_ptr<Content> content) : dimension_(content->dimension()), content_(std::move(content)) {}

  size_t dimension() const { return dimension_; }
  size_t size() const;
  /** 0 when exact. */
  size_t lists() const;
  size_t bytes() const;

  /** Adds or replaces; vectors: n x dimension. */
  void add(const uint32_t* keys, const float* vectors, size_t n);
  void remove(const uint32_t* keys, size_t n);
  /** Looks into the `probes` nearest lists of each query, and into more while they hold fewer than k. */
  Found search(const float* queries, size_t n, size_t k, size_t probes) const;
  /** Every list, a few at a time, so that changes come in between. Empty when the content was swapped meanwhile. */
  Probed probe(const float* query, size_t k) const;
  /** Up to n stored vectors, spread evenly. */
  std::vector<float> sample(size_t n) const;
  /** Builds a content of so many lists (0: exact) beside this one and puts it in its place; what changes meanwhile is applied to it. */
  void rebuild(size_t lists, const Training& training);

  void save(const std::string& file, const std::string& note) const;

 private:
  void replay(Content& fresh, const std::vector<uint32_t>& keys) const;
  void replay_some(Content& fresh, const uint32_t* changed, size_t count) const;
  void copy(Content& fresh) const;

  const size_t dimension_;
  mutable std::shared_mutex content_lock_;
  std::mutex writers_;
  std::unique_ptr<Content> content_;
  uint64_t swaps_ = 0;
  /** Under writers_: the keys that changed while another content is built. */
  bool building_ = false;
  std::vector<uint32_t> journal_;
};

struct Restored {
  std::unique_ptr<Index> index;
  std::string note;
};
/** Throws std::runtime_error that says what is wrong with the file. */
Restored restore(const std::string& file, size_t dimension);

/** k-means over the sample: lists x dimension centroids of unit length. */
std::vector<float> train(const std::vector<float>& sample, size_t dimension, size_t lists, const Training& training);
/** Lets every training that was asked for end with an exception. */
void stop_training();

}  // namespace precedent
