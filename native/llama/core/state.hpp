// The bytes that llama.cpp gives and takes for one sequence (llama_state_seq_get_data, src/llama-kv-cache.cpp: state_write):
//   u32 magic, i32 sequence, u32 streams, u32 cells, per cell {i32 position, u32 1, i32 sequence}, u32 values transposed, u32 layers,
//   per layer {i32 type, u64 row bytes, rows of keys}, per layer the values: {i32 type, u64 row bytes, rows}, or, transposed (flash
//   attention off), {i32 type, u32 element bytes, u32 width, for each dimension the elements of all cells}.
// Cells come in the order of the cache, not of the positions. It checks hardly anything, so nothing is put in that was not measured.
#pragma once

#include <cstdint>
#include <vector>

#include "blob.hpp"

namespace precedent {

// What is the same in every state of a context; read from the state of a probe.
struct StateLayout {
  uint32_t magic = 0;
  bool transposed = false;
  uint32_t layers = 0, keyRowBytes = 0, valueRowBytes = 0, valueElementBytes = 0, valueWidth = 0;
  int32_t keyType = 0, valueType = 0;

  size_t bytes(size_t cells) const;
};

// Throws decode_failed where the bytes are not laid out as above, or differ between layers.
StateLayout readLayout(const uint8_t * data, size_t size);

// Rows of a state in the order of positions.
class StateReader {
public:
  StateReader(const StateLayout & layout, const uint8_t * data, size_t size);
  int cells() const { return static_cast<int>(order_.size()); }
  int position(int i) const { return positions_[order_[i]]; }
  void copyKeys(int layer, uint8_t * to) const;
  void copyValues(int layer, uint8_t * to) const;

private:
  const StateLayout & layout_;
  const uint8_t * data_;
  std::vector<int32_t> positions_;  // by cell
  std::vector<uint32_t> order_;     // cells by position
  bool sorted_ = true;
  size_t keys_, values_;            // offsets of the first layer's headers
};

// A state to be filled: cells at these positions, in this order.
class StateWriter {
public:
  StateWriter(const StateLayout & layout, const std::vector<int32_t> & positions, std::vector<uint8_t> & scratch);
  uint8_t * keys(int layer);
  // `rows` rows for the cells from `first` on.
  void putValues(int layer, int first, int rows, const uint8_t * from);
  const uint8_t * data() const { return data_; }
  size_t size() const { return size_; }

private:
  const StateLayout & layout_;
  size_t cells_, keys_, values_, size_;
  uint8_t * data_;
};

}  // namespace precedent
