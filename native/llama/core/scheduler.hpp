// Runs jobs on contexts of one kind, many at a time: each step decodes a batch in every context, with the next token of every job that
// generates and a part of the prompts that are still to be computed (continuous batching). In a batch each token is compared with all
// cells of its context, those of other jobs included: only short prompts share one, and each
// longer one has its own (docs/design/linked-prefill.md, Several requests at a time). Between two batches links and exports move on by a few pieces. Used by one thread; engine.hpp puts a thread and a queue around it.
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
  int sharedCells = 1024;  // that jobs share a context within, where another one is free
  size_t pieceBytes = 4u << 20;      // most that is linked or exported at a time
  size_t aheadBytes = 256u << 20;    // most that is prepared of the links of jobs, those that wait included
};

class Scheduler {
public:
  // At most as many jobs at a time as one of the contexts has sequences. The contexts must last.
  Scheduler(const std::vector<Context *> & contexts, const SchedulerOptions & options);
  Scheduler(Context & context, const SchedulerOptions & options) : Scheduler(std::vector<Context *>{&context}, options) {}
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
  struct Slots {
    Context * context;
    int reserved = 0;  // cells
  };

  Slots * slotsFor(int cells);
  void admit();
  void start(Waiting & waiting, Slots & slots);
  void linked(Active & active);
  bool moveCaches();
  bool movePiece(Active & active);
  bool compute();
  bool compute(Slots & slots, int & room);
  void collect(Active & active, int firstInBatch, int count);
  void promptDone(Active & active);
  void takeToken(Active & active, const float * logits);
  void finishIfDone(Active & active);

  Context & context_;  // the first: all are alike
  std::vector<Slots> slots_;
  SchedulerOptions options_;
  std::optional<LinkAhead> ahead_;  // where the context takes links
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Active>> active_;  // in the order of admission
  double batchMs_ = 0;                           // that the last batches took
};

}  // namespace precedent
