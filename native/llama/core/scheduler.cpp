#include "scheduler.hpp"

#include <algorithm>

#include "checked-plan.hpp"
#include "clock.hpp"
#include "failure.hpp"
#include "sequence.hpp"
#include "text.hpp"

namespace precedent {

namespace {

// Between two batches; of pieceBytes each.
constexpr int mostPieces = 16;
// Time for them, in that of a batch.
constexpr double pieceShare = 0.5;

}  // namespace

struct Scheduler::Waiting {
  uint64_t id;
  Job job;
  std::shared_ptr<const JobEvents> events;
  Plan plan;
  LinkAhead::Handle links;  // null: none
  double since;
  int cells() const { return static_cast<int>(job.tokens.size()) + job.maxTokens; }
};

struct Scheduler::Active {
  Active(Context & context, Waiting && waiting)
    : id(waiting.id), cells(waiting.cells()), job(std::move(waiting.job)), events(waiting.events), links(std::move(waiting.links)),
      sequence(context, job.tokens, std::move(waiting.plan)), sampler(job.sampling), stops(job.stops) {}
  uint64_t id;
  int cells;
  Job job;
  std::shared_ptr<const JobEvents> events;
  LinkAhead::Handle links;        // null: all of them are placed
  Sequence sequence;
  Sampler sampler;
  Utf8 characters;
  StopMatcher stops;
  JobResult result;
  std::optional<Export> taken;    // under way
  double admitted = 0, admittedCpu = 0, linksCpu = 0;
  size_t nextLogits = 0;
  bool prompted = false;          // the whole prompt is there
  bool generating = false, over = false;

  bool exports() const { return prompted && result.blobs.size() < job.exports.size(); }
  void fail(const std::string & code, const std::string & message) {
    if (over) return;
    over = true;
    events->failed(code, message);
  }
};

Scheduler::Scheduler(Context & context, const SchedulerOptions & options) : context_(context), options_(options) {
  require(options.partTokens >= 1 && options.partTokens <= context.options().batchTokens, "partTokens must be 1 to batchTokens");
  require(options.pieceBytes >= 1, "pieceBytes must be positive");
  options_.partTokens = std::min(options.partTokens, context.options().batchTokens - context.options().sequences + 1);
  options_.partTokens = std::max(options_.partTokens, 1);
  if (context.unlinkable().empty()) ahead_.emplace(options.pieceBytes, options.aheadBytes);
}

Scheduler::~Scheduler() {
  for (const auto & active : active_) active->fail("closed", "the context was closed");
  for (const Waiting & waiting : waiting_) waiting.events->failed("closed", "the context was closed");
}

void Scheduler::submit(uint64_t id, Job job, std::shared_ptr<const JobEvents> events) {
  attempt(
    [&] {
      if (static_cast<int>(waiting_.size()) >= options_.mostWaiting)
        fail("context_full", std::to_string(waiting_.size()) + " requests wait for the context already");
      Sampler check(job.sampling);
      Plan plan = checkedPlan(job, context_);
      std::vector<LinkPart> parts = linkedParts(plan, job.links);
      LinkAhead::Handle links;
      if (!parts.empty()) links = ahead_->add(context_.cellFormat(), std::move(parts), job.links);
      waiting_.push_back({id, std::move(job), events, std::move(plan), std::move(links), nowMs()});
    },
    events->failed);
}

void Scheduler::cancel(uint64_t id) {
  for (auto & active : active_)
    if (active->id == id) active->fail("cancelled", "the request was cancelled");
  for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting)
    if (waiting->id == id) {
      const std::shared_ptr<const JobEvents> events = waiting->events;
      waiting_.erase(waiting);
      return events->failed("cancelled", "the request was cancelled");
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
  const bool moved = moveCaches();
  const double before = nowMs();
  const bool computed = compute();
  batchMs_ = computed ? nowMs() - before : 0;
  clean();
  if (!moved && !computed && !idle() && ahead_.has_value()) ahead_->wait();
  return !idle();
}

void Scheduler::admit() {
  while (!waiting_.empty() && static_cast<int>(active_.size()) < context_.options().sequences &&
       reserved_ + waiting_.front().cells() <= context_.cells()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    attempt([&] { start(next); }, next.events->failed);
  }
}

void Scheduler::start(Waiting & waiting) {
  const double since = waiting.since;
  auto active = std::make_unique<Active>(context_, std::move(waiting));
  active->admitted = nowMs();
  active->admittedCpu = threadCpuMs();
  JobResult & result = active->result;
  result.timings.queued = active->admitted - since;
  const Plan & plan = active->sequence.plan();
  result.linked = plan.linked;
  result.recomputed = plan.recomputed;
  result.prefilled = plan.prefilled;
  for (const Segment & segment : plan.segments) result.runs += segment.link < 0 ? 1 : 0;
  active_.push_back(std::move(active));
  Active & started = *active_.back();
  reserved_ += started.cells;
  if (started.links == nullptr) attempt([&] { linked(started); }, [&](const auto & code, const auto & message) { started.fail(code, message); });
}

// Nothing of a prompt is computed before all its links are placed.
void Scheduler::linked(Active & active) {
  active.sequence.start();
  active.result.timings.linked = nowMs() - active.admitted;
  if (active.sequence.pending() == 0) promptDone(active);
}

// Links before exports, and those that came first before the others, so that one is done soon. False when nothing could be moved.
bool Scheduler::moveCaches() {
  const double until = nowMs() + batchMs_ * pieceShare;
  int moved = 0;
  for (const bool linking : {true, false})
    for (const auto & active : active_)
      while (!active->over && linking == (active->links != nullptr)) {
        bool any = false;
        attempt([&] { any = movePiece(*active); }, [&](const auto & code, const auto & message) { active->fail(code, message); });
        if (!any) break;
        if (++moved == mostPieces || nowMs() >= until) return true;
      }
  return moved > 0;
}

bool Scheduler::movePiece(Active & active) {
  if (active.links != nullptr) {
    LinkPiece piece;
    const LinkAhead::Next next = ahead_->take(*active.links, piece);
    if (next == LinkAhead::Next::later) return false;
    if (next == LinkAhead::Next::piece) {
      active.sequence.place(piece);
      ahead_->giveBack(std::move(piece));
      return true;
    }
    active.linksCpu = ahead_->cpuMs(*active.links);
    active.links.reset();
    active.job.links.clear();
    linked(active);
    return true;
  }
  if (!active.exports()) return false;
  const double before = nowMs();
  const Range & range = active.job.exports[active.result.blobs.size()];
  if (!active.taken.has_value()) active.taken = active.sequence.beginExport(range.begin, range.end);
  if (active.sequence.exportPiece(*active.taken, options_.pieceBytes)) {
    active.result.blobs.push_back(std::move(active.taken->blob));
    active.taken.reset();
  }
  active.result.timings.exported += nowMs() - before;
  finishIfDone(active);
  return true;
}

// False when there is nothing to compute.
bool Scheduler::compute() {
  struct Share {
    Active * active;
    int first, count;
  };
  std::vector<Share> shares;
  attempt(
    [&] {
      std::vector<BatchToken> batch;
      const auto add = [&](Active & active, int count, const auto & wantsLogits) {
        shares.push_back({&active, static_cast<int>(batch.size()), count});
        active.sequence.add(batch, count, wantsLogits);
      };
      for (const auto & active : active_)
        if (active->generating && !active->over) add(*active, 1, [](int) { return true; });
      int room = batch.empty() ? context_.options().batchTokens : options_.partTokens;
      for (const auto & active : active_) {
        if (active->links != nullptr || active->prompted || active->over || room == 0) continue;
        const int count = std::min(room, active->sequence.pending());
        const int last = static_cast<int>(active->job.tokens.size()) - 1;
        add(*active, count, [&](int position) {
          const std::vector<int> & wanted = active->job.logitsAt;
          return (position == last && active->job.maxTokens > 0) || std::binary_search(wanted.begin(), wanted.end(), position);
        });
        room -= count;
      }
      if (!batch.empty()) context_.decode(batch);
    },
    [&](const std::string & code, const std::string & message) {
      // What the sequences of this batch hold now is not known.
      for (const Share & share : shares) share.active->fail(code, message);
      if (shares.empty())
        for (const auto & active : active_) active->fail(code, message);
    });
  for (const Share & share : shares) {
    Active & active = *share.active;
    if (active.over) continue;
    attempt([&] { collect(active, share.first, share.count); }, [&](const auto & code, const auto & message) { active.fail(code, message); });
  }
  return !shares.empty();
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
  active.events->progress(count);
  if (active.generating) return takeToken(active, context_.logits(firstInBatch));
  if (active.sequence.pending() > 0) return;
  active.result.timings.prefilled = nowMs() - active.admitted;
  if (active.job.maxTokens > 0) {
    active.generating = true;
    takeToken(active, context_.logits(firstInBatch + count - 1));
  }
  promptDone(active);
}

void Scheduler::promptDone(Active & active) {
  Timings & timings = active.result.timings;
  if (timings.cpuFirst == 0) timings.cpuFirst = threadCpuMs() - active.admittedCpu + active.linksCpu;
  active.prompted = true;
  finishIfDone(active);
}

void Scheduler::takeToken(Active & active, const float * logits) {
  JobResult & result = active.result;
  const Model & model = context_.model();
  const Token token = active.sampler.sample(logits, model.facts().vocabulary);
  if (result.generated.empty() && result.timings.first == 0) {
    result.timings.first = nowMs() - active.admitted;
    result.timings.cpuFirst = threadCpuMs() - active.admittedCpu + active.linksCpu;
  }
  const auto say = [&](const std::string & text) {
    if (text.empty()) return;
    result.text += text;
    active.events->text(text);
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
    active.generating = false;
    return finishIfDone(active);
  }
  active.sequence.append(token);
}

// When all that was asked for is there: prompt, answer and exports.
void Scheduler::finishIfDone(Active & active) {
  if (!active.prompted || active.exports() || (active.job.maxTokens > 0 && active.result.finish == Finish::none)) return;
  active.result.timings.total = nowMs() - active.admitted;
  active.events->done(std::move(active.result));
  active.over = true;
}

}  // namespace precedent
