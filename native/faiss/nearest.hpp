// The nearest of one query: some more than wanted by what a scan sees of a vector, of which the best by all of it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <faiss/utils/Heap.h>

#include "content.hpp"

namespace precedent {

class Nearest {
 public:
  Nearest(const Content& content, const float* query, size_t k)
      : content_(content), query_(query, content.dimension()), k_(k), best_(content.candidates(k)), labels_(best_.size()) {
    faiss::heap_heapify<Smallest>(best_.size(), best_.data(), labels_.data());
  }

  void scan(size_t list) { content_.scan(query_, list, best_.size(), best_.data(), labels_.data()); }

  /** Products and labels, nearest first; what was removed since it was scanned is left out. */
  std::vector<std::pair<float, int64_t>> best() {
    const size_t count = faiss::heap_reorder<Smallest>(best_.size(), best_.data(), labels_.data());
    std::vector<std::pair<float, int64_t>> best;
    best.reserve(count);
    for (size_t i = 0; i < count; i++) {
      const int64_t place = content_.find(static_cast<uint32_t>(labels_[i]));
      if (place >= 0) best.emplace_back(content_.product(query_, place), labels_[i]);
    }
    std::stable_sort(best.begin(), best.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (best.size() > k_) best.resize(k_);
    return best;
  }

 private:
  using Smallest = faiss::CMin<float, int64_t>;
  const Content& content_;
  const Query query_;
  const size_t k_;
  std::vector<float> best_;
  std::vector<int64_t> labels_;
};

}  // namespace precedent
