// The owner thread of contexts. Everything that touches a context happens on it; other threads only put jobs into its queue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "scheduler.hpp"

namespace precedent {

class Engine {
public:
  // Blocks until the contexts are there (a second for a small model). Throws what Context throws.
  Engine(std::shared_ptr<Model> model, const ContextOptions & context, const SchedulerOptions & scheduler, int contexts);
  ~Engine() { close(); }
  // Blocks until the batch under way is done and the owner thread has ended; what is left fails with "closed". From any thread but
  // the owner's, any number of times: every caller waits.
  void close();

  // From any thread; events come on the owner thread. A job that comes after close() fails at once, on the caller's.
  uint64_t reserve() { return ++lastId_; }  // a number for a job
  void submit(uint64_t id, Job job, JobEvents events);
  void cancel(uint64_t id);
  const BlobFormat & format() const { return format_; }
  int cells() const { return cells_; }
  bool scattered() const { return scattered_; }
  const std::string & unlinkable() const { return unlinkable_; }

private:
  using Command = std::function<void(Scheduler &)>;
  void run(const std::shared_ptr<Model> & model, ContextOptions context, SchedulerOptions scheduler, int contexts);
  void serve(Scheduler & scheduler);
  bool post(Command command);  // false: it is closed

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Command> commands_;
  bool closing_ = false, started_ = false;
  std::unique_ptr<std::pair<std::string, std::string>> failure_;  // of the start: code, message
  BlobFormat format_;
  int cells_ = 0;
  bool scattered_ = false;
  std::string unlinkable_;
  std::atomic<uint64_t> lastId_{0};
  std::mutex joining_;
  std::thread thread_;  // joinable under joining_
};

}  // namespace precedent
