// Prepares the links of jobs on a thread of its own, in the order in which the jobs came, so that the thread that decodes only copies
// what is ready. What is ready and not taken is bounded.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "link-pieces.hpp"

namespace precedent {

class LinkAhead {
public:
  struct Links;
  // Gives up what is not taken of a job.
  struct Dropped {
    LinkAhead * ahead;
    void operator()(Links * links) const noexcept;
  };
  using Handle = std::unique_ptr<Links, Dropped>;

  LinkAhead(size_t pieceBytes, size_t mostBytes);
  ~LinkAhead();  // behind all handles
  LinkAhead(const LinkAhead &) = delete;
  LinkAhead & operator=(const LinkAhead &) = delete;

  // `links` own the bytes of the parts. Throws blob_foreign, invalid_argument.
  Handle add(const CellFormat & format, std::vector<LinkPart> parts, const std::vector<Link> & links);
  enum class Next { piece, later, end };
  // Throws what preparing it threw.
  Next take(Links & links, LinkPiece & piece);
  // Memory that take() gave, to be used again.
  void giveBack(LinkPiece piece);
  // Until something changed since take() gave `later`, or for some milliseconds.
  void wait();
  // CPU time that preparing has taken so far.
  double cpuMs(const Links & links) const;

private:
  void run();
  Links * nextJob();

  const size_t pieceBytes_, mostBytes_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_, ready_;
  std::deque<std::unique_ptr<Links>> jobs_;  // with something to prepare or to take, in order
  std::vector<LinkPiece> spare_;
  size_t readyBytes_ = 0;
  uint64_t changes_ = 0, seen_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace precedent
