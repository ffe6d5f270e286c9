// Numbers that grow. Many of them have their pages from the system and not from malloc: growing moves pages and copies nothing, room that
// is not used yet takes no memory, and what is let go of is the system's at once. In vectors of the standard library a million vectors that
// came one by one took 2.5 times their bytes: what a list had outgrown was too small for the next and lay about between them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

namespace precedent {

template <class Number>
class Buffer {
  static_assert(std::is_trivially_copyable_v<Number>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() { allocate(0); }

  size_t size() const { return size_; }
  /** Approximate bytes in use: of reserved pages only those that were ever touched. */
  size_t bytes() const { return bytes_ < from_system ? bytes_ : std::min(bytes_, pages(size_ * sizeof(Number))); }
  Number* data() { return data_; }
  const Number* data() const { return data_; }
  Number& operator[](size_t i) { return data_[i]; }
  const Number& operator[](size_t i) const { return data_[i]; }

  /** New ones are not set to anything. Throws std::bad_alloc, and has changed nothing then. */
  void resize(size_t n) {
    const size_t needed = n * sizeof(Number);
    // From nothing exactly what is asked for: a list that comes from a file has its size at once.
    if (needed > bytes_) allocate(std::max(needed, 2 * bytes_));
    else if (needed < bytes_ / 4) allocate(2 * needed);
    size_ = n;
  }

 private:
  static constexpr size_t from_system = 65536;
  static size_t pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

  void allocate(size_t bytes) {
    if (bytes >= from_system) bytes = pages(bytes);
    const bool had_pages = bytes_ >= from_system, has_pages = bytes >= from_system;
    void* moved = nullptr;
    if (had_pages && has_pages) moved = mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
    else if (has_pages) moved = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (bytes > 0) moved = had_pages ? std::malloc(bytes) : std::realloc(data_, bytes);
    if (moved == MAP_FAILED || (moved == nullptr && bytes > 0)) throw std::bad_alloc();
    if (had_pages != has_pages && data_ != nullptr && moved != nullptr)
      std::copy_n(data_, std::min(bytes, bytes_) / sizeof(Number), static_cast<Number*>(moved));
    // mremap and realloc have let go of the old ones themselves.
    if (had_pages && !has_pages) munmap(data_, bytes_);
    else if (!had_pages && (has_pages || bytes == 0)) std::free(data_);
    data_ = static_cast<Number*>(moved);
    bytes_ = bytes;
  }

  Number* data_ = nullptr;
  size_t size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace precedent
