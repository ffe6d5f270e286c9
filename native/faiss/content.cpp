#include "content.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/impl/AuxIndexStructures.h>
#include <faiss/utils/Heap.h>

namespace precedent {

namespace {

std::atomic<bool> fast{fast_products()};

using Smallest = faiss::CMin<float, int64_t>;
constexpr size_t block = 256;

}  // namespace

void use_fast_products(bool use) { fast = use && fast_products(); }
const char* products_in_use() { return fast ? "avx2" : "faiss"; }

Content::Content(size_t dimension, const std::vector<float>& centroids)
    : dimension_(dimension),
      code_(centroids.empty() ? Code::single : Code::half),
      quantizer_(std::make_unique<faiss::IndexFlatIP>(dimension)) {
  const std::vector<float> none(dimension, 0.0f);
  const std::vector<float>& wanted = centroids.empty() ? none : centroids;
  const size_t lists = wanted.size() / dimension;
  quantizer_->add(lists, wanted.data());
  if (exact())
    ivf_ = std::make_unique<faiss::IndexIVFFlat>(quantizer_.get(), dimension, 1, faiss::METRIC_INNER_PRODUCT);
  else
    ivf_ = std::make_unique<faiss::IndexIVFScalarQuantizer>(quantizer_.get(), dimension, lists,
                                                            faiss::ScalarQuantizer::QT_fp16,
                                                            faiss::METRIC_INNER_PRODUCT, false);
  ivf_->is_trained = true;
  lists_ = dynamic_cast<faiss::ArrayInvertedLists*>(ivf_->invlists);
  if (lists_ == nullptr) throw std::logic_error("this libfaiss keeps its lists in another way");
  ivf_->direct_map.set_type(faiss::DirectMap::Hashtable, lists_, 0);
}

std::vector<float> Content::centroids() const {
  if (exact()) return {};
  const float* data = quantizer_->get_xb();
  return std::vector<float>(data, data + lists() * dimension_);
}

size_t Content::bytes() const {
  size_t bytes = 0;
  for (size_t list = 0; list < lists(); list++)
    bytes += lists_->codes[list].capacity() + lists_->ids[list].capacity() * sizeof(int64_t);
  // A node and a bucket of the map from keys to places.
  return bytes + size() * 40;
}

std::vector<int64_t> Content::assign(const float* vectors, size_t n) const {
  std::vector<int64_t> lists(n, 0);
  if (!exact() && n > 0) quantizer_->assign(n, vectors, lists.data());
  return lists;
}

std::vector<uint8_t> Content::encode(const float* vectors, size_t n, const int64_t* lists) const {
  std::vector<uint8_t> codes(n * code_size());
  if (n > 0) ivf_->encode_vectors(n, vectors, lists, codes.data());
  return codes;
}

void Content::put(uint32_t key, int64_t list, const uint8_t* code) {
  remove(&key, 1);
  const size_t size = list_size(list);
  // Vectors double when they are full; a quarter more is enough where they are large, and a million take a quarter less.
  if (size > 16 && size == lists_->ids[list].capacity()) reserve(list, size + size / (exact() && size < 65536 ? 1 : 4));
  const int64_t id = key;
  const size_t offset = lists_->add_entry(list, id, code);
  ivf_->direct_map.add_single_id(id, list, offset);
  ivf_->ntotal++;
}

void Content::append(int64_t list, const uint32_t* keys, const uint8_t* codes, size_t n) {
  reserve(list, list_size(list) + n);
  for (size_t i = 0; i < n; i++) {
    if (find(keys[i]) >= 0) throw std::runtime_error("a key is there twice");
    ivf_->direct_map.add_single_id(keys[i], list, lists_->add_entry(list, keys[i], codes + i * code_size()));
    ivf_->ntotal++;
  }
}

size_t Content::remove(const uint32_t* keys, size_t n) {
  size_t removed = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t id = keys[i];
    if (find(keys[i]) >= 0) removed += ivf_->direct_map.remove_ids(faiss::IDSelectorArray(1, &id), lists_);
  }
  ivf_->ntotal -= removed;
  return removed;
}

int64_t Content::find(uint32_t key) const {
  const auto found = ivf_->direct_map.hashtable.find(key);
  return found == ivf_->direct_map.hashtable.end() ? -1 : found->second;
}

void Content::reserve(size_t list, size_t n) {
  lists_->ids[list].reserve(n);
  lists_->codes[list].reserve(n * code_size());
}

std::vector<uint32_t> Content::nearest_lists(const float* query, size_t count) const {
  const size_t all = lists();
  count = std::min(count, all);
  std::vector<uint32_t> order(all);
  for (size_t i = 0; i < all; i++) order[i] = static_cast<uint32_t>(i);
  if (all == 1) return order;
  std::vector<float> product(all);
  if (fast)
    products(Code::single, query, dimension_, reinterpret_cast<const uint8_t*>(quantizer_->get_xb()), all, product.data());
  else {
    std::vector<int64_t> labels(all);
    std::vector<float> sorted(all);
    quantizer_->search(1, query, all, sorted.data(), labels.data());
    for (size_t i = 0; i < all; i++) product[labels[i]] = sorted[i];
  }
  const auto nearer = [&](uint32_t a, uint32_t b) { return product[a] > product[b]; };
  if (count < all) std::nth_element(order.begin(), order.begin() + count, order.end(), nearer);
  std::sort(order.begin(), order.begin() + count, nearer);
  order.resize(count);
  return order;
}

void Content::scan(const float* query, size_t list, size_t k, float* best, int64_t* labels) const {
  const size_t n = list_size(list);
  const int64_t* keys = lists_->get_ids(list);
  const uint8_t* codes = lists_->get_codes(list);
  const int64_t upper = static_cast<int64_t>(list) << 32;
  std::unique_ptr<faiss::InvertedListScanner> scanner;
  if (!fast) {
    scanner.reset(ivf_->get_InvertedListScanner(false));
    scanner->set_query(query);
    scanner->set_list(list, 0);
  }
  float product[block];
  for (size_t start = 0; start < n; start += block) {
    const size_t count = std::min(block, n - start);
    const uint8_t* at = codes + start * code_size();
    if (fast) products(code_, query, dimension_, at, count, product);
    else
      for (size_t i = 0; i < count; i++) product[i] = scanner->distance_to_code(at + i * code_size());
    for (size_t i = 0; i < count; i++)
      if (product[i] > best[0]) faiss::heap_replace_top<Smallest>(k, best, labels, product[i], upper | keys[start + i]);
  }
}

}  // namespace precedent
