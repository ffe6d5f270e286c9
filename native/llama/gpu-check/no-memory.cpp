#include "no-memory.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "../core/context.hpp"
#include "checks.hpp"
#include "run-job.hpp"

namespace {

// Allocations until one fails; 0: none does.
std::atomic<long> left{0};

}  // namespace

// Of this program and, by the order in which the loader looks names up, of llama.cpp's libraries.
void * operator new(std::size_t size) {
  if (left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1) == 1) throw std::bad_alloc();
  if (void * memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

namespace precedent {

namespace {

constexpr int points = 250;
constexpr long more = 1L << 40;

struct Ended {
  const std::vector<Token> & expected;
  int done = 0, failed = 0, wrong = 0;
};

void submit(Scheduler & scheduler, uint64_t id, Job job, Ended & ended) {
  JobEvents events;
  events.done = [&ended](const JobResult & result) {
    ++ended.done;
    ended.wrong += result.generated == ended.expected ? 0 : 1;
  };
  events.failed = [&ended](const std::string &, const std::string &) { ++ended.failed; };
  scheduler.submit(id, std::move(job), std::make_shared<const JobEvents>(std::move(events)));
}

}  // namespace

int checkNoMemory(const std::shared_ptr<Model> & model, const EqualityOptions & options) {
  ContextOptions contextOptions = options.context;
  contextOptions.kvType = GGML_TYPE_F32;
  contextOptions.contextTokens = 256;
  contextOptions.sequences = 3;
  Context context(model, contextOptions);
  SchedulerOptions schedulerOptions;
  schedulerOptions.pieceBytes = 8192;
  Scheduler scheduler(context, schedulerOptions);

  Job job;
  for (int i = 0; i < 60; ++i) job.tokens.push_back((i * 7 + 3) % model->facts().vocabulary);
  job.exports = {{0, 30}, {30, 55}};
  const JobResult first = runJob(scheduler, job);
  job.links = {{viewOf(first.blobs[0]), 0}, {viewOf(first.blobs[1]), 30}};
  job.recompute = {{28, 32}};
  job.logitsAt = {59};
  job.maxTokens = 4;
  const std::vector<Token> expected = runJob(scheduler, job).generated;

  Ended ended{expected};
  const auto round = [&](long until) {
    ended.done = ended.failed = 0;
    left = until;
    for (uint64_t id = 1; id <= 3; ++id) {
      // As the addon does: what finds no memory here fails at the caller.
      try {
        submit(scheduler, id, job, ended);
      } catch (const std::bad_alloc &) {
        ++ended.failed;
      }
    }
    while (scheduler.step()) {
    }
    const long used = until - left.exchange(0);
    return used;
  };
  const long all = round(more);
  int twice = 0, failed = 0, lost = 0;
  for (int point = 0; point < points; ++point) {
    // Every one of the first hundred, which are ours, and a sample of all.
    round(point < 100 ? point + 1 : 1 + static_cast<long>(static_cast<double>(all) * (point - 100) / (points - 100)));
    twice += ended.done + ended.failed == 3 ? 0 : 1;
    failed += ended.failed;
    round(0);
    lost += 3 - ended.done;
  }
  std::printf("     %d of %ld allocations failed in turn, and %d requests with them\n", points, all, failed);
  Outcomes outcomes;
  outcomes.atMost("without memory: requests that did not end once", twice, 0);
  outcomes.atMost("  answers that are not those with memory", ended.wrong, 0);
  outcomes.atMost("  requests that failed with memory again", lost, 0);
  outcomes.atMost("  no request failed", failed == 0, 0);
  return outcomes.failed();
}

}  // namespace precedent
