#include "link-ahead.hpp"

#include <algorithm>
#include <chrono>

#include "clock.hpp"
#include "failure.hpp"

namespace precedent {

struct LinkAhead::Links {
  LinkPieces pieces;
  std::vector<std::shared_ptr<const void>> memory;
  std::deque<LinkPiece> ready;
  std::exception_ptr failure = nullptr;
  double cpuMs = 0;
  bool prepared = false;   // all of it, or failed
  bool underWay = false;   // the thread uses it now
};

namespace {

constexpr size_t mostSpare = 4;

}  // namespace

LinkAhead::LinkAhead(size_t pieceBytes, size_t mostBytes) : pieceBytes_(pieceBytes), mostBytes_(mostBytes) {
  spare_.reserve(mostSpare);
  thread_ = std::thread([this] { run(); });
}

LinkAhead::~LinkAhead() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  wanted_.notify_all();
  thread_.join();
}

LinkAhead::Handle LinkAhead::add(const CellFormat & format, std::vector<LinkPart> parts, const std::vector<Link> & links) {
  std::unique_ptr<Links> made(new Links{LinkPieces(format, std::move(parts), pieceBytes_), {}, {}});
  for (const Link & link : links) made->memory.push_back(link.memory);
  Links * added = made.get();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(made));
  }
  wanted_.notify_all();
  return Handle(added, Dropped{this});
}

LinkAhead::Next LinkAhead::take(Links & links, LinkPiece & piece) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (links.ready.empty()) {
      if (links.failure != nullptr) std::rethrow_exception(links.failure);
      seen_ = changes_;
      return links.prepared ? Next::end : Next::later;
    }
    piece = std::move(links.ready.front());
    links.ready.pop_front();
    readyBytes_ -= piece.bytes;
  }
  wanted_.notify_all();
  return Next::piece;
}

void LinkAhead::giveBack(LinkPiece piece) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (spare_.size() < mostSpare) spare_.push_back(std::move(piece));
}

void LinkAhead::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  ready_.wait_for(lock, std::chrono::milliseconds(20), [this] { return changes_ != seen_; });
}

double LinkAhead::cpuMs(const Links & links) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return links.cpuMs;
}

void LinkAhead::Dropped::operator()(Links * links) const noexcept {
  std::unique_ptr<Links> gone;
  {
    std::unique_lock<std::mutex> lock(ahead->mutex_);
    // For a piece at most: its bytes may go with the job.
    ahead->ready_.wait(lock, [links] { return !links->underWay; });
    for (const LinkPiece & piece : links->ready) ahead->readyBytes_ -= piece.bytes;
    const auto found = std::find_if(ahead->jobs_.begin(), ahead->jobs_.end(), [links](const auto & job) { return job.get() == links; });
    gone = std::move(*found);
    ahead->jobs_.erase(found);
  }
  ahead->wanted_.notify_all();
}

// The earlier jobs first: those that are admitted are among them, so what is full of later ones' pieces never stops them.
LinkAhead::Links * LinkAhead::nextJob() {
  if (readyBytes_ >= mostBytes_) return nullptr;
  for (const auto & job : jobs_)
    if (!job->prepared) return job.get();
  return nullptr;
}

void LinkAhead::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    Links * job = nullptr;
    wanted_.wait(lock, [&] { return closing_ || (job = nextJob()) != nullptr; });
    if (closing_) return;
    job->underWay = true;
    LinkPiece piece;
    if (!spare_.empty()) {
      piece = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    const double before = threadCpuMs();
    bool more = false;
    std::exception_ptr failure = nullptr;
    try {
      more = job->pieces.next(piece);
    } catch (...) {
      failure = std::current_exception();
    }
    const double spent = threadCpuMs() - before;
    lock.lock();
    job->underWay = false;
    job->cpuMs += spent;
    const size_t bytes = piece.bytes;
    if (more) {
      try {
        job->ready.push_back(std::move(piece));
        readyBytes_ += bytes;
      } catch (...) {
        failure = std::current_exception();
      }
    }
    job->failure = failure;
    job->prepared = !more || failure != nullptr;
    ++changes_;
    ready_.notify_all();
  }
}

}  // namespace precedent
