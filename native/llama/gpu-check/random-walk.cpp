#include <chrono>
#include <map>
#include <optional>

#include "checks.hpp"
#include "equalities.hpp"
#include "reference.hpp"
#include "run-job.hpp"

namespace precedent {

namespace {

// A prompt of chunks with what full prefill makes of it, and the caches of its chunks that are at hand. They were computed within this
// prompt, so any mixture of linked and computed tokens must give the same logits.
struct Known {
  std::vector<Token> tokens;
  std::vector<int> starts;  // of the chunks; the last one is the question, never cached
  std::vector<int> wanted;
  Reference::Logits logits;
  double noise = 0;  // of the same prompt cut into other batches
  std::map<size_t, std::shared_ptr<Bytes>> caches;  // by chunk
};

int numberIn(std::mt19937_64& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

Known makePrompt(std::mt19937_64& random, const Model& model, Reference& reference) {
  Known known;
  for (int chunks = numberIn(random, 2, 7); chunks > 0; --chunks) {
    known.starts.push_back(static_cast<int>(known.tokens.size()));
    known.tokens = joined({known.tokens, randomTokens(random, model, numberIn(random, 1, 40))});
  }
  known.wanted = {static_cast<int>(known.tokens.size()) - 1};
  known.logits = reference.full(known.tokens, known.wanted);
  const int count = known.wanted[0];
  for (const std::vector<int>& cuts : {std::vector<int>{1 + count / 2}, {1, 1 + count / 3}, known.starts, {count}}) {
    std::vector<int> inside;
    std::copy_if(cuts.begin(), cuts.end(), std::back_inserter(inside), [](int cut) { return cut > 0; });
    const std::vector<float> other = flattened(reference.full(known.tokens, known.wanted, inside));
    known.noise = std::max(known.noise, isQuantised(model) ? divergence(known.logits, other) : difference(known.logits, other));
  }
  return known;
}

struct Flight {
  Known* known;
  Job job;
  std::vector<std::shared_ptr<Bytes>> held;  // what it links, whatever is evicted meanwhile
  std::vector<size_t> exported;              // chunks
  std::optional<JobResult> result;
  std::string failure;
};

void plan(std::mt19937_64& random, Flight& flight) {
  Known& known = *flight.known;
  const int count = static_cast<int>(known.tokens.size());
  flight.job.tokens = known.tokens;
  flight.job.logitsAt = known.wanted;
  for (const auto& [chunk, cache] : known.caches) {
    if (numberIn(random, 0, 4) == 0) continue;
    flight.held.push_back(cache);
    flight.job.links.push_back({viewOf(*cache), known.starts[chunk]});
  }
  for (int ranges = numberIn(random, 0, 3); ranges > 0; --ranges) {
    const int begin = numberIn(random, 0, count - 1);
    flight.job.recompute.push_back({begin, std::min(count, begin + numberIn(random, 0, 12))});
  }
  for (size_t chunk = 0; chunk + 1 < known.starts.size(); ++chunk) {
    if (numberIn(random, 0, 2) != 0) continue;
    flight.exported.push_back(chunk);
    flight.job.exports.push_back({known.starts[chunk], known.starts[chunk + 1]});
  }
  if (numberIn(random, 0, 2) == 0) flight.job.maxTokens = numberIn(random, 1, 5);
}

}  // namespace

int checkRandomWalk(const std::shared_ptr<Model>& model, const EqualityOptions& options) {
  // Rounding adds up over chunks that are linked and taken again many times; float32 keeps it apart from errors.
  const bool quantised = isQuantised(*model);
  ContextOptions contextOptions = options.context;
  contextOptions.kvType = GGML_TYPE_F32;
  contextOptions.contextTokens = 512;
  contextOptions.sequences = 4;
  contextOptions.batchTokens = 96;
  Context context(model, contextOptions), other(model, contextOptions);
  SchedulerOptions schedulerOptions;
  schedulerOptions.partTokens = 24;
  schedulerOptions.sharedCells = 256;
  // A few tokens; and fewer than the jobs have that wait.
  schedulerOptions.pieceBytes = 16384;
  schedulerOptions.aheadBytes = 65536;
  Scheduler scheduler({&context, &other}, schedulerOptions);
  Reference reference(*model, context.options());
  std::mt19937_64 random(options.seed);
  std::vector<Known> prompts;
  for (int i = 0; i < 12; ++i) prompts.push_back(makePrompt(random, *model, reference));

  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  double largest = 0, noise = 0, logit = 0;
  const auto take = [&](const Known& known) {
    noise = std::max(noise, known.noise);
    logit = std::max(logit, largestOf(known.logits));
  };
  std::for_each(prompts.begin(), prompts.end(), take);
  int done = 0, cancelled = 0, linked = 0, recomputed = 0, prefilled = 0, evicted = 0, refused = 0;
  uint64_t id = 0;
  for (int round = 0; done < options.rounds && std::chrono::steady_clock::now() < end; ++round) {
    std::vector<std::unique_ptr<Flight>> flights;
    const uint64_t firstId = id + 1;
    for (int at = numberIn(random, 1, 6); at > 0; --at) {
      auto flight = std::make_unique<Flight>();
      flight->known = &prompts[static_cast<size_t>(numberIn(random, 0, 11))];
      plan(random, *flight);
      JobEvents events;
      events.done = [raw = flight.get()](JobResult result) { raw->result = std::move(result); };
      events.failed = [raw = flight.get()](const std::string& code, const std::string&) { raw->failure = code; };
      scheduler.submit(++id, flight->job, std::make_shared<const JobEvents>(events));
      flights.push_back(std::move(flight));
      if (numberIn(random, 0, 1) == 0) scheduler.step();
    }
    if (numberIn(random, 0, 3) == 0) scheduler.cancel(firstId + static_cast<uint64_t>(numberIn(random, 0, static_cast<int>(flights.size()) - 1)));
    while (scheduler.step()) {
    }
    for (const auto& flight : flights) {
      if (!flight->result.has_value()) {
        (flight->failure == "cancelled" ? cancelled : refused) += 1;
        continue;
      }
      JobResult& result = *flight->result;
      largest = std::max(largest, quantised ? divergence(flight->known->logits, result.logits) : difference(flight->known->logits, result.logits));
      ++done;
      linked += result.linked;
      recomputed += result.recomputed;
      prefilled += result.prefilled;
      for (size_t i = 0; i < flight->exported.size(); ++i)
        flight->known->caches[flight->exported[i]] = std::make_shared<Bytes>(std::move(result.blobs[i]));
    }
    Known& known = prompts[static_cast<size_t>(numberIn(random, 0, 11))];
    if (!known.caches.empty() && numberIn(random, 0, 1) == 0) {
      known.caches.erase(known.caches.begin());
      ++evicted;
    }
    if (numberIn(random, 0, 60) == 0) {
      Known& replaced = prompts[static_cast<size_t>(numberIn(random, 0, 11))];
      replaced = makePrompt(random, *model, reference);
      take(replaced);
    }
  }
  std::printf("     %d requests in random company: %d tokens linked, %d recomputed, %d prefilled; %d caches evicted, %d cancelled\n", done, linked,
              recomputed, prefilled, evicted, cancelled);
  Outcomes outcomes;
  std::printf("     noise: cut into other batches %.3g\n", noise);
  // As in equalities.cpp, and twice: caches are linked and taken again many times.
  const double allowed = std::max(quantised ? 1e-5 : 1e-5 * logit, 8 * noise);
  outcomes.atMost("random links, runs, exports, evictions, cancellations = full prefill", largest, allowed);
  outcomes.atMost("  requests that failed", refused, 0);
  return outcomes.failed();
}

}  // namespace precedent
