// Another content for an index, built beside the one that is searched: trained on a sample, filled from it, brought up to date with what
// changed meanwhile, swapped. Runs on a thread of its own; searches go on all the time, changes wait for the last few at the end.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <unordered_set>

#include <malloc.h>

#include <faiss/Clustering.h>
#include <faiss/impl/AuxIndexStructures.h>

#include "index.hpp"

namespace precedent {

namespace {

/** Vectors copied under one hold of the lock, and assigned in one multiplication of matrices. */
constexpr size_t copied_at_once = 2048;
/** Changes that are left to the last replay, which holds other changes back, if earlier ones can get there. */
constexpr size_t last_replay = 256;
constexpr int most_replays = 20;

std::atomic<uint64_t> stopped{0};
/** Of the training on this thread. */
thread_local uint64_t begun = 0;

struct Stop : faiss::InterruptCallback {
  bool want_interrupt() override { return begun != stopped; }
};

}  // namespace

void stop_training() { stopped++; }
uint64_t trainings_stopped() { return stopped; }

std::vector<float> train(const std::vector<float>& sample, size_t dimension, size_t lists, const Training& training) {
  static const bool listening = (faiss::InterruptCallback::instance.reset(new Stop), true);
  (void)listening;
  faiss::ClusteringParameters parameters;
  parameters.niter = training.iterations;
  parameters.seed = training.seed;
  parameters.spherical = true;
  parameters.min_points_per_centroid = 1;
  parameters.max_points_per_centroid = static_cast<int>(training.points_per_list);
  faiss::Clustering clustering(static_cast<int>(dimension), static_cast<int>(lists), parameters);
  faiss::IndexFlatIP nearest(dimension);
  clustering.train(static_cast<faiss::Index::idx_t>(sample.size() / dimension), sample.data(), nearest);
  return clustering.centroids;
}

void Index::rebuild(size_t lists, const Training& training) {
  begun = training.begun;
  {
    std::lock_guard writer(writers_);
    if (building_) throw std::runtime_error("another content is being built already");
    building_ = true;
    journal_.clear();
  }
  try {
    std::vector<float> centroids;
    if (lists > 0) {
      const std::vector<float> points = sample(lists * training.points_per_list);
      lists = std::min(lists, points.size() / dimension_);
      if (lists > 0) centroids = train(points, dimension_, lists, training);
    }
    auto fresh = std::make_unique<Content>(dimension_, centroids);
    copy(*fresh);
    std::unique_lock writer(writers_, std::defer_lock);
    for (int round = 1;; round++) {
      writer.lock();
      std::vector<uint32_t> keys;
      keys.swap(journal_);
      const bool last = keys.size() <= last_replay || round == most_replays;
      if (!last) writer.unlock();
      replay(*fresh, keys);
      if (last) break;
    }
    building_ = false;
    std::unique_lock lock(content_lock_);
    content_.swap(fresh);
    swaps_++;
    lock.unlock();
    // The old content is freed here, when no search waits for the lock.
    writer.unlock();
    fresh.reset();
    // As large as all that is left: the system has it back.
    malloc_trim(0);
  } catch (...) {
    std::lock_guard writer(writers_);
    building_ = false;
    journal_.clear();
    throw;
  }
}

/**
 * From the end of each list to its start: a removal moves the last entry forward, so that none can slip by; what is met twice is put
 * twice.
 */
void Index::copy(Content& fresh) const {
  const size_t lists = content_->lists(), d = dimension_;
  std::vector<uint32_t> keys;
  std::vector<float> vectors;
  const auto flush = [&] {
    const std::vector<int64_t> to = fresh.assign(vectors.data(), keys.size());
    const Content::Rows rows = fresh.encode(vectors.data(), keys.size());
    for (size_t i = 0; i < keys.size(); i++) fresh.put(keys[i], to[i], rows, i);
    keys.clear();
    vectors.clear();
  };
  for (size_t list = 0; list < lists; list++)
    for (size_t end = SIZE_MAX; end > 0;) {
      {
        std::shared_lock lock(content_lock_);
        end = std::min(end, content_->list_size(list));
        for (; end > 0 && keys.size() < copied_at_once; end--) {
          keys.push_back(content_->keys(list)[end - 1]);
          vectors.resize(keys.size() * d);
          content_->decode(list, end - 1, vectors.data() + (keys.size() - 1) * d);
        }
      }
      if (begun != stopped) throw std::runtime_error("stopped");
      if (keys.size() == copied_at_once) flush();
    }
  flush();
}

/** These keys as the content has them now, no more of them decoded at a time than are copied: half a million may have come meanwhile. */
void Index::replay(Content& fresh, const std::vector<uint32_t>& changed) const {
  for (size_t from = 0; from < changed.size(); from += copied_at_once)
    replay_some(fresh, changed.data() + from, std::min(copied_at_once, changed.size() - from));
}

void Index::replay_some(Content& fresh, const uint32_t* changed, size_t count) const {
  const std::unordered_set<uint32_t> distinct(changed, changed + count);
  std::vector<uint32_t> there, gone;
  std::vector<float> vectors;
  {
    std::shared_lock lock(content_lock_);
    for (uint32_t key : distinct) {
      const int64_t place = content_->find(key);
      if (place < 0) {
        gone.push_back(key);
        continue;
      }
      there.push_back(key);
      vectors.resize(there.size() * dimension_);
      content_->decode(place >> 32, place & 0xffffffff, vectors.data() + (there.size() - 1) * dimension_);
    }
  }
  fresh.remove(gone.data(), gone.size());
  const std::vector<int64_t> to = fresh.assign(vectors.data(), there.size());
  const Content::Rows rows = fresh.encode(vectors.data(), there.size());
  for (size_t i = 0; i < there.size(); i++) fresh.put(there[i], to[i], rows, i);
}

}  // namespace precedent
