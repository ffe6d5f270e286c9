#include "state.hpp"

#include <algorithm>
#include <numeric>

#include "failure.hpp"

namespace precedent {

namespace {

constexpr size_t cellsAt = 16, cellBytes = 12;
constexpr size_t keyHeader = 4 + 8;
constexpr size_t rowValueHeader = 4 + 8, transposedValueHeader = 4 + 4 + 4;

template <typename T>
T read(const uint8_t * data, size_t size, size_t at) {
  if (at + sizeof(T) > size) fail("decode_failed", "llama.cpp's state of a sequence ends too early");
  T value;
  std::memcpy(&value, data + at, sizeof(T));
  return value;
}

template <typename T>
void put(uint8_t *& at, T value) {
  std::memcpy(at, &value, sizeof(T));
  at += sizeof(T);
}

// Between rows (`tokens` x `width`, contiguous) and columns (`width` x `stride`, from cell `first` on; cellOf says which cell a row is).
template <typename Element, typename CellOf>
void rowsFromColumns(uint8_t * rows, const uint8_t * columns, size_t count, size_t width, size_t stride, CellOf cellOf) {
  for (size_t dimension = 0; dimension < width; ++dimension)
    for (size_t i = 0; i < count; ++i)
      std::memcpy(rows + (i * width + dimension) * sizeof(Element), columns + (dimension * stride + cellOf(i)) * sizeof(Element),
            sizeof(Element));
}

template <typename Element>
void columnsFromRows(const uint8_t * rows, uint8_t * columns, size_t count, size_t width, size_t stride, size_t first) {
  for (size_t dimension = 0; dimension < width; ++dimension)
    for (size_t i = 0; i < count; ++i)
      std::memcpy(columns + (dimension * stride + first + i) * sizeof(Element), rows + (i * width + dimension) * sizeof(Element),
            sizeof(Element));
}

size_t valueHeader(const StateLayout & layout) { return layout.transposed ? transposedValueHeader : rowValueHeader; }
size_t keyBlock(const StateLayout & layout, size_t cells) { return keyHeader + cells * layout.keyRowBytes; }
size_t valueBlock(const StateLayout & layout, size_t cells) { return valueHeader(layout) + cells * layout.valueRowBytes; }
size_t firstLayer(size_t cells) { return cellsAt + cells * cellBytes + 8; }

}  // namespace

size_t StateLayout::bytes(size_t cells) const {
  return firstLayer(cells) + layers * (keyBlock(*this, cells) + valueBlock(*this, cells));
}

StateLayout readLayout(const uint8_t * data, size_t size) {
  StateLayout layout;
  layout.magic = read<uint32_t>(data, size, 0);
  const uint32_t streams = read<uint32_t>(data, size, 8), cells = read<uint32_t>(data, size, 12);
  if (streams != 1 || cells == 0) fail("decode_failed", "the cache is not one unified stream");
  const size_t after = cellsAt + cells * cellBytes;
  layout.transposed = read<uint32_t>(data, size, after) != 0;
  layout.layers = read<uint32_t>(data, size, after + 4);
  size_t at = firstLayer(cells);
  layout.keyType = read<int32_t>(data, size, at);
  layout.keyRowBytes = static_cast<uint32_t>(read<uint64_t>(data, size, at + 4));
  for (uint32_t layer = 0; layer < layout.layers; ++layer, at += keyBlock(layout, cells))
    if (read<int32_t>(data, size, at) != layout.keyType || read<uint64_t>(data, size, at + 4) != layout.keyRowBytes)
      fail("model_unsupported", "keys differ in size between layers");
  layout.valueType = read<int32_t>(data, size, at);
  if (layout.transposed) {
    layout.valueElementBytes = read<uint32_t>(data, size, at + 4);
    layout.valueWidth = read<uint32_t>(data, size, at + 8);
    layout.valueRowBytes = layout.valueElementBytes * layout.valueWidth;
    if (layout.valueElementBytes != 2 && layout.valueElementBytes != 4) fail("model_unsupported", "values of an unknown size");
  } else {
    layout.valueRowBytes = static_cast<uint32_t>(read<uint64_t>(data, size, at + 4));
  }
  if (size != layout.bytes(cells)) fail("model_unsupported", "the cache holds more than keys and values, or layers differ");
  return layout;
}

StateReader::StateReader(const StateLayout & layout, const uint8_t * data, size_t size) : layout_(layout), data_(data) {
  const uint32_t cells = read<uint32_t>(data, size, 12);
  if (size != layout.bytes(cells)) fail("decode_failed", "llama.cpp's state of a sequence has an unexpected size");
  positions_.resize(cells);
  for (uint32_t cell = 0; cell < cells; ++cell) {
    positions_[cell] = read<int32_t>(data, size, cellsAt + cell * cellBytes);
    sorted_ = sorted_ && (cell == 0 || positions_[cell - 1] < positions_[cell]);
  }
  order_.resize(cells);
  std::iota(order_.begin(), order_.end(), 0u);
  if (!sorted_) std::sort(order_.begin(), order_.end(), [this](uint32_t one, uint32_t other) { return positions_[one] < positions_[other]; });
  keys_ = firstLayer(cells);
  values_ = keys_ + layout.layers * keyBlock(layout, cells);
}

void StateReader::copyKeys(int layer, uint8_t * to) const {
  const size_t row = layout_.keyRowBytes, cells = order_.size();
  const uint8_t * from = data_ + keys_ + static_cast<size_t>(layer) * keyBlock(layout_, cells) + keyHeader;
  if (sorted_) {
    std::memcpy(to, from, cells * row);
    return;
  }
  for (size_t i = 0; i < cells; ++i) std::memcpy(to + i * row, from + order_[i] * row, row);
}

void StateReader::copyValues(int layer, uint8_t * to) const {
  const size_t row = layout_.valueRowBytes, cells = order_.size();
  const uint8_t * from = data_ + values_ + static_cast<size_t>(layer) * valueBlock(layout_, cells) + valueHeader(layout_);
  if (!layout_.transposed) {
    if (sorted_)
      std::memcpy(to, from, cells * row);
    else
      for (size_t i = 0; i < cells; ++i) std::memcpy(to + i * row, from + order_[i] * row, row);
    return;
  }
  const auto cellOf = [this](size_t i) { return order_[i]; };
  if (layout_.valueElementBytes == 2)
    rowsFromColumns<uint16_t>(to, from, cells, layout_.valueWidth, cells, cellOf);
  else
    rowsFromColumns<uint32_t>(to, from, cells, layout_.valueWidth, cells, cellOf);
}

StateWriter::StateWriter(const StateLayout & layout, const std::vector<int32_t> & positions, std::vector<uint8_t> & scratch)
  : layout_(layout), cells_(positions.size()) {
  size_ = layout.bytes(cells_);
  if (scratch.size() < size_) scratch.resize(size_);
  data_ = scratch.data();
  uint8_t * at = data_;
  put<uint32_t>(at, layout.magic);
  put<int32_t>(at, 0);
  put<uint32_t>(at, 1);
  put<uint32_t>(at, static_cast<uint32_t>(cells_));
  for (const int32_t position : positions) {
    put<int32_t>(at, position);
    put<uint32_t>(at, 1);
    put<int32_t>(at, 0);
  }
  put<uint32_t>(at, layout.transposed ? 1 : 0);
  put<uint32_t>(at, layout.layers);
  keys_ = static_cast<size_t>(at - data_);
  values_ = keys_ + layout.layers * keyBlock(layout, cells_);
  for (uint32_t layer = 0; layer < layout.layers; ++layer) {
    uint8_t * key = data_ + keys_ + layer * keyBlock(layout, cells_);
    put<int32_t>(key, layout.keyType);
    put<uint64_t>(key, layout.keyRowBytes);
    uint8_t * value = data_ + values_ + layer * valueBlock(layout, cells_);
    put<int32_t>(value, layout.valueType);
    if (layout.transposed) {
      put<uint32_t>(value, layout.valueElementBytes);
      put<uint32_t>(value, layout.valueWidth);
    } else {
      put<uint64_t>(value, layout.valueRowBytes);
    }
  }
}

uint8_t * StateWriter::keys(int layer) { return data_ + keys_ + static_cast<size_t>(layer) * keyBlock(layout_, cells_) + keyHeader; }

void StateWriter::putValues(int layer, int first, int rows, const uint8_t * from) {
  uint8_t * to = data_ + values_ + static_cast<size_t>(layer) * valueBlock(layout_, cells_) + valueHeader(layout_);
  const size_t row = layout_.valueRowBytes, count = static_cast<size_t>(rows), start = static_cast<size_t>(first);
  if (!layout_.transposed) {
    std::memcpy(to + start * row, from, count * row);
    return;
  }
  if (layout_.valueElementBytes == 2)
    columnsFromRows<uint16_t>(from, to, count, layout_.valueWidth, cells_, start);
  else
    columnsFromRows<uint32_t>(from, to, count, layout_.valueWidth, cells_, start);
}

}  // namespace precedent
