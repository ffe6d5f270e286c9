#include "equalities.hpp"

#include <cstring>
#include <numeric>

#include "checks.hpp"
#include "reference.hpp"
#include "run-job.hpp"

namespace precedent {

namespace {

struct Chunks {
  std::vector<std::vector<Token>> tokens;
  std::vector<Bytes> blobs;  // each computed alone
};

// How far apart two computations are. With random weights the measure is the largest difference of logits. With trained ones it is
// the mean divergence, because quantised weights round activations in steps, which makes the last bit of a sum visible (prefilling
// SmolLM2 in pieces moves logits by 1, its predictions hardly).
struct Closeness {
  bool trained;
  double operator()(const Reference::Logits& rows, const std::vector<float>& flat) const {
    return trained ? divergence(rows, flat) : difference(rows, flat);
  }
};

// What rounding alone does on this device, found with llama.cpp's plain calls.
struct Noise {
  double repeated = 0;  // the same prefill again; always of logits
  double behind = 0;    // a beginning in a batch of its own
  double cut = 0;       // the same prompt cut into any batches, some computed again
  double moved = 0;     // keys moved and moved back
};

Noise measureNoise(Reference& reference, const std::vector<Token>& prompt, const std::vector<int>& wanted, int first, bool movable,
                   const Closeness& close) {
  Noise noise;
  const int count = static_cast<int>(prompt.size()), question = wanted.front();
  const auto whole = reference.full(prompt, wanted);
  noise.repeated = difference(whole, flattened(reference.full(prompt, wanted)));
  const auto found = [&](double& into, const Reference::Logits& others) { into = std::max(into, close(whole, flattened(others))); };
  for (const int cut : {first, question}) found(noise.behind, reference.full(prompt, wanted, {cut}));
  noise.cut = noise.behind;
  const std::vector<std::vector<int>> pieces{{1, count / 2}, {7, first + 5, question - 1}, {count - 1}};
  for (const std::vector<int>& cuts : pieces) found(noise.cut, reference.full(prompt, wanted, cuts));
  // Where a sum rounds the other way, the last bit of a row may flip: seen in some places, so many are tried.
  for (const int begin : {5, first - 3, first, first + 29, (first + question) / 2})
    for (const int size : {1, 7, 30})
      if (begin >= 0 && begin + size <= question) found(noise.cut, reference.again(prompt, {{begin, begin + size}, {question, count}}, wanted));
  for (const int distance : {37, 301})
    if (movable) found(noise.moved, reference.movedAndBack(prompt, wanted, question, distance));
  return noise;
}

}  // namespace

int checkEqualities(const std::shared_ptr<Model>& model, const EqualityOptions& options) {
  Context context(model, options.context);
  Scheduler scheduler(context, {});
  Reference reference(*model, context.options());
  if (context.scattered()) std::printf("batches are scattered\n");
  std::mt19937_64 random(options.seed);
  Outcomes outcomes;
  const Closeness close{options.trained};

  Chunks chunks;
  if (options.trained)
    for (const std::string& text : dictionary(random)) chunks.tokens.push_back(model->tokenize(text, false));
  else
    for (const int size : {23, 64, 41, 19}) chunks.tokens.push_back(randomTokens(random, *model, size));
  const std::vector<Token> tail = chunks.tokens.back();
  const int tailSize = static_cast<int>(tail.size());
  chunks.tokens.pop_back();
  for (const auto& tokens : chunks.tokens) {
    Job job;
    job.tokens = tokens;
    job.exports = {{0, static_cast<int>(tokens.size())}};
    chunks.blobs.push_back(std::move(runJob(scheduler, job).blobs[0]));
  }
  const std::vector<Token> prompt = joined({chunks.tokens[0], chunks.tokens[1], chunks.tokens[2], tail});
  const int count = static_cast<int>(prompt.size()), first = static_cast<int>(chunks.tokens[0].size());
  std::vector<int> wanted(tail.size());
  std::iota(wanted.begin(), wanted.end(), count - tailSize);
  const auto whole = reference.full(prompt, wanted);
  // YaRN's magnitudes are applied twice by llama.cpp's own move; ours leaves them alone.
  const bool comparable = context.rope().extrapolation == 0;
  const Noise noise = measureNoise(reference, prompt, wanted, first, comparable, close);
  // Other prompts round more than this one, and two roundings may add up.
  // The least is what a flipped last bit of a row of the cache's type is worth.
  const double bit = options.context.kvType == GGML_TYPE_F32 ? 1e-5 : options.context.kvType == GGML_TYPE_F16 ? 1.0 / 8192 : 1.0 / 1024;
  const double more = 4, least = options.trained ? 1e-5 : bit * largestOf(whole);
  // Bit for bit where this device computes pieces of a prompt as the whole: on a CPU without flash attention.
  const double exact = more * noise.repeated, pieces = noise.behind == 0 ? exact : std::max(least, more * noise.behind);
  // Keys that are moved and back are rounded twice already.
  const double tolerance = std::max({least, more * noise.cut, more / 2 * noise.moved}), different = 10 * tolerance;
  std::printf("     noise: repeated %.3g, behind a beginning %.3g, cut into other batches %.3g, keys moved and back %.3g\n", noise.repeated,
              noise.behind, noise.cut, noise.moved);

  Job job;
  job.tokens = prompt;
  job.logitsAt = wanted;
  outcomes.atMost("full = ordinary prefill", difference(whole, runJob(scheduler, job).logits), exact);

  job.links = {{viewOf(chunks.blobs[0]), 0}};
  const std::vector<float> prefixed = runJob(scheduler, job).logits;
  outcomes.atMost("first chunk linked at 0 = prefix caching", difference(reference.full(prompt, wanted, {first}), prefixed), exact);
  outcomes.atMost("first chunk linked at 0 = ordinary prefill", close(whole, prefixed), pieces);

  std::vector<int> order{0, 1, 2};
  double recomputed = 0, moved = 0, partly = 0, naive = 0;
  int orders = 0;
  do {
    std::vector<Token> tokens;
    Job linked;
    std::vector<Reference::Chunk> placed;
    for (const int i : order) {
      linked.links.push_back({viewOf(chunks.blobs[static_cast<size_t>(i)]), static_cast<int>(tokens.size())});
      placed.push_back({static_cast<int>(tokens.size()), chunks.tokens[static_cast<size_t>(i)]});
      tokens = joined({tokens, chunks.tokens[static_cast<size_t>(i)]});
    }
    const int tailAt = static_cast<int>(tokens.size());
    linked.tokens = joined({tokens, tail});
    linked.logitsAt = wanted;
    const auto ordinary = reference.full(linked.tokens, wanted);
    const std::vector<float> asLinked = runJob(scheduler, linked).logits;
    naive = std::max(naive, close(ordinary, asLinked));
    if (comparable) moved = std::max(moved, close(reference.linked(linked.tokens, placed, {{tailAt, count}}, wanted), asLinked));
    linked.recompute = {{5, 9}, {placed[1].position - 3, placed[1].position + 4}, {placed[2].position, placed[2].position + 1}};
    std::vector<std::pair<int, int>> runs;
    for (const Range& range : linked.recompute) runs.push_back({range.begin, range.end});
    runs.push_back({tailAt, count});
    if (comparable)
      partly = std::max(partly, close(reference.linked(linked.tokens, placed, runs, wanted), runJob(scheduler, linked).logits));
    linked.recompute = {{0, count}};
    recomputed = std::max(recomputed, difference(ordinary, runJob(scheduler, linked).logits));
  } while (++orders < options.orders && std::next_permutation(order.begin(), order.end()));
  outcomes.atMost("all orders: link + recompute everything = ordinary prefill", recomputed, exact);
  outcomes.atMost("all orders: link = llama.cpp's own move of cells", moved, tolerance);
  outcomes.atMost("all orders: recomputed runs = forked sequences, left to right", partly, tolerance);
  outcomes.atLeast("all orders: chunks computed alone do differ", naive, different);

  // Chunks cut out of this very prompt, computed somewhere else: at the same places they are what a full prefill computes.
  Job making;
  making.tokens = prompt;
  making.exports = {{0, first}, {first, count - tailSize}};
  const std::vector<Bytes> own = runJob(scheduler, making).blobs;
  Job same = job;
  same.links = {{viewOf(own[0]), 0}, {viewOf(own[1]), first}};
  outcomes.atMost("chunks of the same prompt linked = ordinary prefill", close(whole, runJob(scheduler, same).logits), pieces);

  // Rows that are recomputed are poisoned in their caches; the results must not change.
  Bytes poisoned = Bytes::ofSize(own[1].size);
  std::memcpy(poisoned.data.get(), own[1].data.get(), own[1].size);
  const BlobFormat& format = context.format();
  const int poisonedRows = 30;
  for (uint32_t layer = 0; layer < format.layers; ++layer) {
    const int size = count - tailSize - first;
    std::memset(blobKeys(poisoned, format, size, static_cast<int>(layer)), 0x7C, poisonedRows * static_cast<size_t>(format.keyRowBytes));
    std::memset(blobValues(poisoned, format, size, static_cast<int>(layer)), 0x7C, poisonedRows * static_cast<size_t>(format.valueRowBytes));
  }
  same.recompute = {{first, first + poisonedRows}};
  const std::vector<float> clean = runJob(scheduler, same).logits;
  same.links[1].blob = viewOf(poisoned);
  const std::vector<float> dirty = runJob(scheduler, same).logits;
  outcomes.atMost("recomputed rows are never read from their cache", clean == dirty ? 0 : 1, 0);
  same.recompute.clear();
  outcomes.atLeast("  (read, they would be noticed)", close(whole, runJob(scheduler, same).logits), different);
  outcomes.atMost("a part recomputed in its own context = ordinary prefill", close(whole, clean), tolerance);
  return outcomes.failed();
}

}  // namespace precedent
