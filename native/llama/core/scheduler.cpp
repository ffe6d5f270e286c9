#include "scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "checked-plan.hpp"
#include "failure.hpp"
#include "sequence.hpp"
#include "text.hpp"

namespace precedent {

namespace {

double nowMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpuMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace

struct Scheduler::Waiting {
  uint64_t id;
  Job job;
  JobEvents events;
  Plan plan;
  double since;
  int cells() const { return static_cast<int>(job.tokens.size()) + job.maxTokens; }
};

struct Scheduler::Active {
  Active(Context & context, Waiting && waiting)
    : id(waiting.id), cells(waiting.cells()), job(std::move(waiting.job)), events(std::move(waiting.events)),
      sequence(context, job.tokens, std::move(waiting.plan)), sampler(job.sampling), stops(job.stops) {}
  uint64_t id;
  int cells;
  Job job;
  JobEvents events;
  Sequence sequence;
  Sampler sampler;
  Utf8 characters;
  StopMatcher stops;
  JobResult result;
  double admitted = 0, admittedCpu = 0;
  size_t nextLogits = 0;
  bool generating = false, over = false;
};

Scheduler::Scheduler(Context & context, const SchedulerOptions & options) : context_(context), options_(options) {
  require(options.partTokens >= 1 && options.partTokens <= context.options().batchTokens, "partTokens must be 1 to batchTokens");
  options_.partTokens = std::min(options.partTokens, context.options().batchTokens - context.options().sequences + 1);
  options_.partTokens = std::max(options_.partTokens, 1);
}

Scheduler::~Scheduler() {
  for (const auto & active : active_) active->events.failed("closed", "the context was closed");
  for (const Waiting & waiting : waiting_) waiting.events.failed("closed", "the context was closed");
}

void Scheduler::submit(uint64_t id, Job job, JobEvents events) {
  const auto failed = events.failed;
  attempt(
    [&] {
      if (static_cast<int>(waiting_.size()) >= options_.mostWaiting)
        fail("context_full", std::to_string(waiting_.size()) + " requests wait for the context already");
      Sampler check(job.sampling);
      Plan plan = checkedPlan(job, context_);
      waiting_.push_back({id, std::move(job), std::move(events), std::move(plan), nowMs()});
    },
    failed);
}

void Scheduler::cancel(uint64_t id) {
  for (auto & active : active_)
    if (active->id == id && !active->over) {
      active->over = true;
      active->events.failed("cancelled", "the request was cancelled");
    }
  for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting)
    if (waiting->id == id) {
      waiting->events.failed("cancelled", "the request was cancelled");
      waiting_.erase(waiting);
      return;
    }
}

bool Scheduler::idle() const { return active_.empty() && waiting_.empty(); }

bool Scheduler::step() {
  const auto clean = [this] {
    for (const auto & active : active_)
      if (active->over) reserved_ -= active->cells;
    active_.erase(std::remove_if(active_.begin(), active_.end(), [](const auto & active) { return active->over; }), active_.end());
  };
  clean();
  admit();
  compute();
  clean();
  return !idle();
}

void Scheduler::admit() {
  while (!waiting_.empty() && static_cast<int>(active_.size()) < context_.options().sequences &&
       reserved_ + waiting_.front().cells() <= context_.cells()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const auto failed = next.events.failed;
    attempt([&] { start(next); }, failed);
  }
}

void Scheduler::start(Waiting & waiting) {
  const double since = waiting.since;
  auto active = std::make_unique<Active>(context_, std::move(waiting));
  active->admitted = nowMs();
  active->admittedCpu = cpuMs();
  JobResult & result = active->result;
  result.timings.queued = active->admitted - since;
  const Plan & plan = active->sequence.plan();
  result.linked = plan.linked;
  result.recomputed = plan.recomputed;
  result.prefilled = plan.prefilled;
  for (const Segment & segment : plan.segments) result.runs += segment.link < 0 ? 1 : 0;
  active->sequence.link(active->job.links);
  result.timings.linked = nowMs() - active->admitted;
  active_.push_back(std::move(active));
  reserved_ += active_.back()->cells;
  if (active_.back()->sequence.pending() == 0) promptDone(*active_.back());
}

void Scheduler::compute() {
  struct Share {
    Active * active;
    int first, count;
  };
  std::vector<BatchToken> batch;
  std::vector<Share> shares;
  bool generating = false;
  for (const auto & active : active_)
    if (active->generating && !active->over) {
      shares.push_back({active.get(), static_cast<int>(batch.size()), 1});
      active->sequence.add(batch, 1, [](int) { return true; });
      generating = true;
    }
  int room = generating ? options_.partTokens : context_.options().batchTokens;
  for (const auto & active : active_) {
    if (active->generating || active->over || room == 0) continue;
    const int count = std::min(room, active->sequence.pending());
    const int last = static_cast<int>(active->job.tokens.size()) - 1;
    shares.push_back({active.get(), static_cast<int>(batch.size()), count});
    active->sequence.add(batch, count, [&](int position) {
      const std::vector<int> & wanted = active->job.logitsAt;
      return (position == last && active->job.maxTokens > 0) || std::binary_search(wanted.begin(), wanted.end(), position);
    });
    room -= count;
  }
  if (batch.empty()) return;
  attempt(
    [&] {
      context_.decode(batch);
      for (const Share & share : shares) collect(*share.active, share.first, share.count);
    },
    [&](const std::string & code, const std::string & message) {
      // What the sequences of this batch hold now is not known.
      for (const Share & share : shares) {
        if (share.active->over) continue;
        share.active->over = true;
        share.active->events.failed(code, message);
      }
    });
}

void Scheduler::collect(Active & active, int firstInBatch, int count) {
  const size_t vocabulary = static_cast<size_t>(context_.model().facts().vocabulary);
  const std::vector<int> & wanted = active.job.logitsAt;
  for (; !active.generating && active.nextLogits < wanted.size(); ++active.nextLogits) {
    const int rank = active.sequence.rankOf(wanted[active.nextLogits]);
    if (rank >= count) break;
    const float * row = context_.logits(firstInBatch + rank);
    active.result.logits.insert(active.result.logits.end(), row, row + vocabulary);
  }
  active.sequence.computed(count);
  active.events.progress(count);
  if (active.generating) return takeToken(active, context_.logits(firstInBatch));
  if (active.sequence.pending() > 0) return;
  active.result.timings.prefilled = nowMs() - active.admitted;
  if (active.job.maxTokens > 0) {
    active.generating = true;
    takeToken(active, context_.logits(firstInBatch + count - 1));
  }
  promptDone(active);
}

// After the first token, which the client waits for.
void Scheduler::promptDone(Active & active) {
  Timings & timings = active.result.timings;
  if (timings.cpuFirst == 0) timings.cpuFirst = cpuMs() - active.admittedCpu;
  if (active.over) return;
  const double before = nowMs();
  const bool exported = attempt(
    [&] {
      for (const Range & range : active.job.exports) active.result.blobs.push_back(active.sequence.exportRange(range.begin, range.end));
    },
    [&](const std::string & code, const std::string & message) {
      active.over = true;
      active.events.failed(code, message);
    });
  if (!exported) return;
  timings.exported = nowMs() - before;
  if (active.result.finish != Finish::none || active.job.maxTokens == 0) finish(active, active.result.finish);
}

void Scheduler::takeToken(Active & active, const float * logits) {
  JobResult & result = active.result;
  const Model & model = context_.model();
  const Token token = active.sampler.sample(logits, model.facts().vocabulary);
  const bool first = result.generated.empty() && result.timings.first == 0;
  if (first) {
    result.timings.first = nowMs() - active.admitted;
    result.timings.cpuFirst = cpuMs() - active.admittedCpu;
  }
  const auto say = [&](const std::string & text) {
    if (text.empty()) return;
    result.text += text;
    active.events.text(text);
  };
  const bool ended = model.isEnd(token);
  if (!ended) {
    result.generated.push_back(token);
    say(active.stops.push(active.characters.push(model.piece(token, false))));
  }
  if (ended || active.stops.stopped() || static_cast<int>(result.generated.size()) >= active.job.maxTokens) {
    const bool cut = !ended && !active.stops.stopped();
    if (!active.stops.stopped()) say(active.stops.push(active.characters.flush()));
    if (!active.stops.stopped()) say(active.stops.flush());
    result.finish = cut && !active.stops.stopped() ? Finish::length : Finish::stop;
    // With exports of its prompt to be taken still, promptDone finishes it.
    if (!first) finish(active, result.finish);
    return;
  }
  active.sequence.append(token);
}

void Scheduler::finish(Active & active, Finish why) {
  active.over = true;
  active.result.finish = why;
  active.result.timings.total = nowMs() - active.admitted;
  active.events.done(std::move(active.result));
}

}  // namespace precedent
