// Runs jobs on one context, many at a time: each step decodes one batch with the next token of every job that generates and a part of
// the prompts that are still to be computed (continuous batching). Between two batches links and exports move on by a few pieces. Used by one thread; engine.hpp puts a thread and a queue around it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "context.hpp"
#include "job.hpp"
#include "link-ahead.hpp"

namespace precedent {

struct SchedulerOptions {
  int partTokens = 128;   // most prompt tokens of a batch while other jobs generate
  int mostWaiting = 256;  // jobs beyond those that run
  size_t pieceBytes = 4u << 20;      // most that is linked or exported at a time
  size_t aheadBytes = 256u << 20;    // most that is prepared of the links of jobs, those that wait included
};

class Scheduler {
public:
  Scheduler(Context & context, const SchedulerOptions & options);
  ~Scheduler();  // what is left fails with "closed"

  // A job that can't be done fails before this returns.
  void submit(uint64_t id, Job job, std::shared_ptr<const JobEvents> events);
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
  void linked(Active & active);
  bool moveCaches();
  bool movePiece(Active & active);
  bool compute();
  void collect(Active & active, int firstInBatch, int count);
  void promptDone(Active & active);
  void takeToken(Active & active, const float * logits);
  void finishIfDone(Active & active);

  Context & context_;
  SchedulerOptions options_;
  std::optional<LinkAhead> ahead_;  // where the context takes links
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Active>> active_;  // in the order of admission
  int reserved_ = 0;                             // cells
  double batchMs_ = 0;                           // that the last batch took
};

}  // namespace precedent
