#include "content.hpp"

#include <algorithm>
#include <stdexcept>

#include <faiss/utils/Heap.h>

#include "eight-bit.hpp"

namespace precedent {

namespace {

using Smallest = faiss::CMin<float, int64_t>;
constexpr size_t block = 256;

uint64_t place_of(size_t list, size_t offset) { return static_cast<uint64_t>(list) << 32 | offset; }

}  // namespace

Query::Query(const float* vector, size_t d) : vector(vector), coarse(coarse_query(vector, d)) {}

Content::Content(size_t dimension, const std::vector<float>& centroids) : dimension_(dimension), lists_(1) {
  if (centroids.empty()) return;
  quantizer_ = std::make_unique<faiss::IndexFlatIP>(dimension);
  quantizer_->add(centroids.size() / dimension, centroids.data());
  lists_.resize(centroids.size() / dimension);
}

std::vector<float> Content::centroids() const {
  if (exact()) return {};
  const float* data = quantizer_->get_xb();
  return std::vector<float>(data, data + lists() * dimension_);
}

size_t Content::bytes() const {
  size_t bytes = 0;
  for (const List& list : lists_)
    bytes += list.keys.bytes() + list.rows.single.bytes() + list.rows.steps.bytes() + list.rows.bytes.bytes();
  // A node and a bucket of the map from keys to places.
  return bytes + size() * 32;
}

std::vector<int64_t> Content::assign(const float* vectors, size_t n) const {
  std::vector<int64_t> lists(n, 0);
  if (!exact() && n > 0) quantizer_->assign(n, vectors, lists.data());
  return lists;
}

Content::Rows Content::encode(const float* vectors, size_t n) const {
  Rows rows;
  resize(rows, n);
  if (exact()) {
    std::copy_n(vectors, n * dimension_, rows.single.data());
    return rows;
  }
  for (size_t i = 0, at = 0; i < n; i++, at += dimension_)
    rows.steps[i] = encode8(vectors + at, dimension_, rows.bytes.data() + at);
  return rows;
}

void Content::decode(size_t list, size_t offset, float* vector) const {
  const Rows& rows = lists_[list].rows;
  const size_t at = offset * dimension_;
  if (exact()) std::copy_n(rows.single.data() + at, dimension_, vector);
  else decode8(rows.bytes.data() + at, dimension_, rows.steps[offset], vector);
}

void Content::put(uint32_t key, size_t list, const Rows& rows, size_t i) {
  remove(&key, 1);
  List& of = lists_[list];
  const size_t size = of.keys.size();
  of.keys.resize(size + 1);
  of.keys[size] = key;
  resize(of.rows, size + 1);
  copy(rows, i, of.rows, size);
  places_[key] = place_of(list, size);
}

size_t Content::remove(const uint32_t* keys, size_t n) {
  size_t removed = 0;
  for (size_t i = 0; i < n; i++) {
    const auto found = places_.find(keys[i]);
    if (found == places_.end()) continue;
    const size_t list = found->second >> 32, offset = found->second & 0xffffffff;
    places_.erase(found);
    removed++;
    List& of = lists_[list];
    const size_t last = of.keys.size() - 1;
    if (offset != last) {
      // The last one moves into the gap.
      copy(of.rows, last, of.rows, offset);
      of.keys[offset] = of.keys[last];
      places_[of.keys[offset]] = place_of(list, offset);
    }
    of.keys.resize(last);
    resize(of.rows, last);
  }
  return removed;
}

int64_t Content::find(uint32_t key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? -1 : static_cast<int64_t>(found->second);
}

void Content::resize(Rows& rows, size_t n) const {
  if (exact()) return rows.single.resize(n * dimension_);
  rows.steps.resize(n);
  rows.bytes.resize(n * dimension_);
}

void Content::copy(const Rows& source, size_t from, Rows& rows, size_t to) const {
  const auto row = [&](const auto& numbers, auto& into) {
    std::copy_n(numbers.data() + from * dimension_, dimension_, into.data() + to * dimension_);
  };
  if (exact()) return row(source.single, rows.single);
  rows.steps[to] = source.steps[from];
  row(source.bytes, rows.bytes);
}

void Content::enter(size_t list) {
  const Buffer<uint32_t>& keys = lists_[list].keys;
  for (size_t i = 0; i < keys.size(); i++)
    if (!places_.emplace(keys[i], place_of(list, i)).second) throw std::runtime_error("a key is there twice");
}

std::vector<uint32_t> Content::nearest_lists(const float* query, size_t count) const {
  const size_t all = lists();
  count = std::min(count, all);
  std::vector<uint32_t> order(all);
  for (size_t i = 0; i < all; i++) order[i] = static_cast<uint32_t>(i);
  if (exact() || all == 1) return order;
  std::vector<float> product(all);
  products(query, dimension_, quantizer_->get_xb(), all, product.data());
  const auto nearer = [&](uint32_t a, uint32_t b) { return product[a] > product[b]; };
  if (count < all) std::nth_element(order.begin(), order.begin() + count, order.end(), nearer);
  std::sort(order.begin(), order.begin() + count, nearer);
  order.resize(count);
  return order;
}

void Content::scan(const Query& query, size_t list, size_t room, float* best, int64_t* labels) const {
  const auto& [keys, rows] = lists_[list];
  const int64_t upper = static_cast<int64_t>(list) << 32;
  float product[block];
  for (size_t start = 0; start < keys.size(); start += block) {
    const size_t count = std::min(block, keys.size() - start), at = start * dimension_;
    if (exact()) products(query.vector, dimension_, rows.single.data() + at, count, product);
    else coarse_products(query.coarse, dimension_, rows.bytes.data() + at, rows.steps.data() + start, count, product);
    for (size_t i = 0; i < count; i++)
      if (product[i] > best[0])
        faiss::heap_replace_top<Smallest>(room, best, labels, product[i], upper | keys[start + i]);
  }
}

}  // namespace precedent
