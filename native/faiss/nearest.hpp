// The nearest of one query among the lists that are scanned.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include <faiss/utils/Heap.h>

#include "content.hpp"

namespace precedent {

class Nearest {
 public:
  Nearest(const Content& content, const float* query, size_t k)
      : content_(content), query_(query, content.dimension()), best_(k), labels_(k) {
    faiss::heap_heapify<Smallest>(best_.size(), best_.data(), labels_.data());
  }

  void scan(size_t list) { content_.scan(query_, list, best_.size(), best_.data(), labels_.data()); }

  /** Products and labels, nearest first; what was removed since it was scanned is left out. */
  std::vector<std::pair<float, int64_t>> best() {
    const size_t count = faiss::heap_reorder<Smallest>(best_.size(), best_.data(), labels_.data());
    std::vector<std::pair<float, int64_t>> best;
    best.reserve(count);
    for (size_t i = 0; i < count; i++)
      if (content_.find(static_cast<uint32_t>(labels_[i])) >= 0) best.emplace_back(best_[i], labels_[i]);
    return best;
  }

 private:
  using Smallest = faiss::CMin<float, int64_t>;
  const Content& content_;
  const Query query_;
  std::vector<float> best_;
  std::vector<int64_t> labels_;
};

}  // namespace precedent
