// An index as one file: a head, a note, centroids, the sizes of the lists, keys and vectors of each list, and the CRC-32C of all that.
// Written beside the file, synced, renamed. Nothing in a file is believed before its length agrees with its head.
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum.hpp"
#include "index.hpp"

namespace precedent {

namespace {

constexpr char magic[8] = {'P', 'R', 'E', 'C', 'F', 'A', 'I', 'S'};
constexpr uint32_t version = 3;

struct Head {
  char magic[8];
  uint32_t version;
  uint32_t dimension;
  /** 0: exact. */
  uint32_t lists;
  uint32_t note_bytes;
  uint64_t size;
  uint64_t file_bytes;
};

std::runtime_error failed(const std::string& what, const std::string& file) {
  return std::runtime_error(what + " " + file + ": " + std::strerror(errno));
}

/** A file with the checksum of what went through it. */
class File {
 public:
  File(const std::string& name, int flags) : name_(name), descriptor_(::open(name.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644)) {
    if (descriptor_ < 0) throw failed("can't open", name);
    if ((flags & O_DIRECTORY) == 0 && !S_ISREG(status().st_mode)) {
      ::close(descriptor_);
      throw std::runtime_error(name + " is no file");
    }
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const void* data, size_t n) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    crc_ = crc32c(crc_, bytes, n);
    while (n > 0) {
      const ssize_t written = ::write(descriptor_, bytes, n);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw failed("can't write", name_);
      bytes += written;
      n -= static_cast<size_t>(written);
    }
  }
  void read(void* data, size_t n) {
    auto* bytes = static_cast<uint8_t*>(data);
    const size_t whole = n;
    while (n > 0) {
      const ssize_t got = ::read(descriptor_, bytes, n);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw failed("can't read", name_);
      if (got == 0) throw std::runtime_error(name_ + " is cut short");
      bytes += got;
      n -= static_cast<size_t>(got);
    }
    crc_ = crc32c(crc_, static_cast<uint8_t*>(data), whole);
  }
  uint32_t crc() const { return crc_; }
  uint64_t length() const { return static_cast<uint64_t>(status().st_size); }
  void sync() {
    if (::fsync(descriptor_) != 0) throw failed("can't sync", name_);
  }

 private:
  struct stat status() const {
    struct stat status;
    if (::fstat(descriptor_, &status) != 0) throw failed("can't look at", name_);
    return status;
  }

  std::string name_;
  int descriptor_;
  uint32_t crc_ = 0;
};

uint64_t bytes_of(const Head& head) {
  const uint64_t d = head.dimension, lists = head.lists;
  const uint64_t vector = Content::bytes_a_vector(d, lists == 0);
  return sizeof(Head) + head.note_bytes + lists * d * 4 + std::max<uint64_t>(1, lists) * 4 + head.size * (4 + vector) + 4;
}

void sync_folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  File folder(slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash), O_RDONLY | O_DIRECTORY);
  folder.sync();
}

void write_content(File& out, const Content& content, const std::string& note) {
  Head head{};
  std::memcpy(head.magic, magic, sizeof magic);
  head.version = version;
  head.dimension = static_cast<uint32_t>(content.dimension());
  head.lists = content.exact() ? 0 : static_cast<uint32_t>(content.lists());
  head.note_bytes = static_cast<uint32_t>(note.size());
  head.size = content.size();
  head.file_bytes = bytes_of(head);
  out.write(&head, sizeof head);
  out.write(note.data(), note.size());
  const std::vector<float> centroids = content.centroids();
  out.write(centroids.data(), centroids.size() * 4);
  std::vector<uint32_t> sizes(content.lists());
  for (size_t list = 0; list < sizes.size(); list++) sizes[list] = static_cast<uint32_t>(content.list_size(list));
  out.write(sizes.data(), sizes.size() * 4);
  for (size_t list = 0; list < sizes.size(); list++)
    content.each_part(list, [&](const void* data, size_t bytes) { out.write(data, bytes); });
  const uint32_t crc = out.crc();
  out.write(&crc, sizeof crc);
}

}  // namespace

void Index::save(const std::string& file, const std::string& note) const {
  // Saves of one file at once write a file each.
  static std::atomic<uint64_t> saves{0};
  const std::string beside = file + "." + std::to_string(::getpid()) + "-" + std::to_string(saves++) + ".tmp";
  try {
    File out(beside, O_WRONLY | O_CREAT | O_TRUNC);
    {
      std::shared_lock lock(content_lock_);
      write_content(out, *content_, note);
    }
    out.sync();
    if (::rename(beside.c_str(), file.c_str()) != 0) throw failed("can't rename to", file);
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  sync_folder_of(file);
}

Restored restore(const std::string& name, size_t dimension) {
  File file(name, O_RDONLY);
  Head head{};
  if (file.length() < sizeof head) throw std::runtime_error(name + " is cut short");
  file.read(&head, sizeof head);
  if (std::memcmp(head.magic, magic, sizeof magic) != 0) throw std::runtime_error(name + " is no index file");
  if (head.version != version)
    throw std::runtime_error(name + " is of version " + std::to_string(head.version) + ", not " +
                             std::to_string(version));
  if (head.dimension != dimension)
    throw std::runtime_error(name + " holds " + std::to_string(head.dimension) + " numbers a vector, " +
                             std::to_string(dimension) + " are wanted");
  const uint64_t length = file.length();
  // Each part alone first, so that the sum can't overflow.
  if (head.size > length || head.file_bytes != length || bytes_of(head) != length)
    throw std::runtime_error(name + " has " + std::to_string(length) + " bytes, which is not what its head says");

  std::string note(head.note_bytes, '\0');
  file.read(note.data(), note.size());
  std::vector<float> centroids(static_cast<size_t>(head.lists) * dimension);
  file.read(centroids.data(), centroids.size() * 4);
  for (float number : centroids)
    if (!std::isfinite(number)) throw std::runtime_error(name + " was changed: a centroid is no number");
  auto content = std::make_unique<Content>(dimension, centroids);
  std::vector<uint32_t> sizes(content->lists());
  file.read(sizes.data(), sizes.size() * 4);
  uint64_t sum = 0;
  for (uint32_t size : sizes) sum += size;
  if (sum != head.size) throw std::runtime_error(name + " was changed: its lists don't add up");
  content->expect(head.size);
  for (size_t list = 0; list < sizes.size(); list++)
    content->fill(list, sizes[list], [&](void* data, size_t bytes) { file.read(data, bytes); });
  const uint32_t expected = file.crc();
  uint32_t crc;
  file.read(&crc, sizeof crc);
  if (crc != expected) throw std::runtime_error(name + " was changed: its checksum is another");
  return {std::make_unique<Index>(std::move(content)), std::move(note)};
}

}  // namespace precedent
