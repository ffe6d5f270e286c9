// Runs jobs on one context, many at a time: each step decodes one batch with the next token of every job that generates and a part of
// the prompts that are still to be computed (continuous batching). Used by one thread; engine.hpp puts a thread and a queue around it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "context.hpp"
#include "job.hpp"

namespace precedent {

struct SchedulerOptions {
  int partTokens = 128;   // most prompt tokens of a batch while other jobs generate
  int mostWaiting = 256;  // jobs beyond those that run
};

class Scheduler {
public:
  Scheduler(Context & context, const SchedulerOptions & options);
  ~Scheduler();  // what is left fails with "closed"

  // A job that can't be done fails before this returns.
  void submit(uint64_t id, Job job, JobEvents events);
  // It fails with "cancelled", if it is still there.
  void cancel(uint64_t id);
  // One batch; false when there is nothing to do.
  bool step();
  bool idle() const;

private:
  struct Active;
  struct Waiting;

  void admit();
  void start(Waiting & waiting);
  void compute();
  void collect(Active & active, int firstInBatch, int count);
  void promptDone(Active & active);
  void takeToken(Active & active, const float * logits);
  void finish(Active & active, Finish why);

  Context & context_;
  SchedulerOptions options_;
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Active>> active_;  // in the order of admission
  int reserved_ = 0;                             // cells
};

}  // namespace precedent
