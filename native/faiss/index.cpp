#include "index.hpp"

#include <algorithm>
#include <utility>

#include "nearest.hpp"

namespace precedent {

namespace {

/** Lists that a probe scans before it lets go of the lock. */
constexpr size_t lists_at_once = 16;

}  // namespace

size_t Index::size() const {
  std::shared_lock lock(content_lock_);
  return content_->size();
}

size_t Index::lists() const {
  std::shared_lock lock(content_lock_);
  return content_->exact() ? 0 : content_->lists();
}

size_t Index::bytes() const {
  std::shared_lock lock(content_lock_);
  return content_->bytes();
}

void Index::add(const uint32_t* keys, const float* vectors, size_t n) {
  std::lock_guard writer(writers_);
  const std::vector<int64_t> lists = content_->assign(vectors, n);
  const Content::Rows rows = content_->encode(vectors, n);
  std::unique_lock lock(content_lock_);
  for (size_t i = 0; i < n; i++) content_->put(keys[i], lists[i], rows, i);
  if (building_) journal_.insert(journal_.end(), keys, keys + n);
}

void Index::remove(const uint32_t* keys, size_t n) {
  std::lock_guard writer(writers_);
  std::unique_lock lock(content_lock_);
  content_->remove(keys, n);
  if (building_) journal_.insert(journal_.end(), keys, keys + n);
}

Found Index::search(const float* queries, size_t n, size_t k, size_t probes) const {
  std::shared_lock lock(content_lock_);
  const size_t room = std::min(k, content_->size());
  Found found{std::vector<uint32_t>(n * room), std::vector<float>(n * room), std::vector<uint32_t>(n, room)};
  if (room == 0) return found;

  // (list, query): list by list, so that what one query has brought into the processor's cache serves the next.
  std::vector<std::pair<uint32_t, uint32_t>> visits;
  for (size_t query = 0; query < n; query++) {
    const float* vector = queries + query * dimension_;
    std::vector<uint32_t> lists = content_->nearest_lists(vector, std::max<size_t>(1, probes));
    const auto held = [&] {
      size_t sum = 0;
      for (uint32_t list : lists) sum += content_->list_size(list);
      return sum;
    };
    while (held() < room) lists = content_->nearest_lists(vector, 2 * lists.size());
    for (uint32_t list : lists) visits.emplace_back(list, query);
  }
  if (n > 1) std::sort(visits.begin(), visits.end());

  std::vector<Nearest> nearest;
  nearest.reserve(n);
  for (size_t query = 0; query < n; query++) nearest.emplace_back(*content_, queries + query * dimension_, room);
  for (const auto& [list, query] : visits) nearest[query].scan(list);
  for (size_t query = 0; query < n; query++) {
    const std::vector<std::pair<float, int64_t>> best = nearest[query].best();
    found.counts[query] = static_cast<uint32_t>(best.size());
    for (size_t i = 0; i < best.size(); i++) {
      found.similarities[query * room + i] = best[i].first;
      found.keys[query * room + i] = static_cast<uint32_t>(best[i].second);
    }
  }
  return found;
}

Probed Index::probe(const float* query, size_t k) const {
  std::shared_lock lock(content_lock_);
  const uint64_t swaps = swaps_;
  const size_t all = content_->lists();
  const std::vector<uint32_t> order = content_->nearest_lists(query, all);
  const size_t room = std::min(k, content_->size());
  if (room == 0) return {};
  Nearest nearest(*content_, query, room);
  for (size_t i = 0; i < all; i++) {
    if (i > 0 && i % lists_at_once == 0) {
      lock.unlock();
      lock.lock();
      if (swaps_ != swaps) return {};
    }
    nearest.scan(order[i]);
  }
  std::vector<uint32_t> rank(all);
  for (size_t i = 0; i < all; i++) rank[order[i]] = static_cast<uint32_t>(i);
  Probed probed;
  for (const auto& [product, label] : nearest.best()) {
    probed.keys.push_back(static_cast<uint32_t>(label));
    probed.ranks.push_back(rank[label >> 32]);
  }
  return probed;
}

std::vector<float> Index::sample(size_t n) const {
  std::vector<float> vectors;
  size_t total = size(), seen = 0, taken = 0;
  n = std::min(n, total);
  vectors.reserve(n * dimension_);
  for (size_t list = 0;; list++) {
    std::shared_lock lock(content_lock_);
    if (list >= content_->lists()) break;
    // Every (total / n)-th; removals and additions meanwhile make it a few more or less.
    for (size_t offset = 0; offset < content_->list_size(list); offset++, seen++) {
      if (taken >= n || seen * n < taken * total) continue;
      vectors.resize((taken + 1) * dimension_);
      content_->decode(list, offset, vectors.data() + taken * dimension_);
      taken++;
    }
  }
  return vectors;
}

}  // namespace precedent
