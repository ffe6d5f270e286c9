#include "scorer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "failure.hpp"
#include "sequence.hpp"

namespace precedent {

namespace {

constexpr const char* weightsName = "kq_soft_max-";

// Layer whose attention weights these are, or -1.
int layerOf(const ggml_tensor* tensor) {
  const size_t length = std::strlen(weightsName);
  return std::strncmp(tensor->name, weightsName, length) == 0 ? std::atoi(tensor->name + length) : -1;
}

}  // namespace

// One walk over a prompt: the graph is stopped behind the last wanted layer, so the deeper layers cost nothing.
struct Scorer::Pass {
  int lastLayer;
  AttentionScores* scores = nullptr;
  std::vector<int> chunkOfCell;  // cells hold positions in the order in which they were filled
  std::vector<int> chunkOf;      // by position
  std::vector<int> rows;         // positions of the batch under way
  int ownCell = 0;               // of the first row
  std::vector<float> copy;
  bool broken = false;  // weights that do not sum to one: the cells are not where we think

  void add(int layer, const ggml_tensor* tensor);
};

void Scorer::Pass::add(int layer, const ggml_tensor* tensor) {
  const size_t columns = static_cast<size_t>(tensor->ne[0]), count = static_cast<size_t>(tensor->ne[1]);
  const size_t heads = static_cast<size_t>(tensor->ne[2]), cells = chunkOfCell.size();
  if (tensor->type != GGML_TYPE_F32 || !ggml_is_contiguous(tensor) || count != rows.size() || columns < cells || tensor->ne[3] != 1) {
    broken = true;
    return;
  }
  const float* weights = static_cast<const float*>(tensor->data);
  if (!ggml_backend_buffer_is_host(tensor->buffer)) {
    copy.resize(columns * count * heads);
    ggml_backend_tensor_get(tensor, copy.data(), 0, copy.size() * sizeof(float));
    weights = copy.data();
  }
  const size_t chunks = static_cast<size_t>(scores->chunks);
  std::vector<float> mean(cells), sums(chunks);
  for (size_t row = 0; row < count; ++row) {
    std::fill(mean.begin(), mean.end(), 0.0f);
    for (size_t head = 0; head < heads; ++head) {
      const float* from = weights + (head * count + row) * columns;
      for (size_t cell = 0; cell < cells; ++cell) mean[cell] += from[cell];
    }
    std::fill(sums.begin(), sums.end(), 0.0f);
    float total = 0;
    for (size_t cell = 0; cell < cells; ++cell) {
      sums[static_cast<size_t>(chunkOfCell[cell])] += mean[cell];
      total += mean[cell];
    }
    const float scale = 1.0f / static_cast<float>(heads);
    broken = broken || !(std::fabs(total * scale - 1) < 0.01f);
    const size_t position = static_cast<size_t>(rows[row]), own = static_cast<size_t>(chunkOf[position]);
    sums[own] -= mean[static_cast<size_t>(ownCell) + row];  // k < l
    float before = 0;
    float* into = scores->sums.data() + static_cast<size_t>(layer) * chunks * chunks;
    for (size_t chunk = 0; chunk <= own; ++chunk) {
      into[chunk * chunks + own] += sums[chunk] * scale;
      if (chunk < own) before += sums[chunk] * scale;
    }
    scores->before[position] += before / static_cast<float>(scores->layers);
  }
}

Scorer::Scorer(std::shared_ptr<Model> model, ContextOptions options) {
  options.flashAttention = false;
  options.sequences = 1;
  options.scattered = false;
  options.callback = observe;
  options.callbackData = this;
  context_ = std::make_unique<Context>(std::move(model), options);
  context_->requireLinkable();
}

bool Scorer::observe(ggml_tensor* tensor, bool ask, void* data) {
  Pass* pass = static_cast<Scorer*>(data)->pass_;
  const int layer = pass == nullptr ? -1 : layerOf(tensor);
  if (ask) return layer >= 0 && (layer == pass->lastLayer || pass->scores != nullptr);
  if (layer < 0) return true;
  if (pass->scores != nullptr) pass->add(layer, tensor);
  return layer < pass->lastLayer;
}

void Scorer::check(const std::vector<Token>& tokens) const {
  context_->model().checkTokens(tokens);
  if (static_cast<int>(tokens.size()) > context_->cells())
    fail("context_full", std::to_string(tokens.size()) + " tokens don't fit into " + std::to_string(context_->cells()));
}

// Computes what is pending of the sequence, the pass looking on.
void Scorer::run(Sequence& sequence, Pass& pass) {
  pass_ = &pass;
  try {
    while (sequence.pending() > 0 && !pass.broken) {
      const int count = std::min(sequence.pending(), context_->options().batchTokens);
      std::vector<BatchToken> batch;
      sequence.add(batch, count, [](int) { return false; });
      pass.ownCell = static_cast<int>(pass.chunkOfCell.size());
      pass.rows.clear();
      for (const BatchToken& token : batch) {
        pass.rows.push_back(token.position);
        if (pass.scores != nullptr) pass.chunkOfCell.push_back(pass.chunkOf[static_cast<size_t>(token.position)]);
      }
      context_->decode(batch);
      sequence.computed(count);
    }
  } catch (...) {
    pass_ = nullptr;
    throw;
  }
  pass_ = nullptr;
  if (pass.broken) fail("decode_failed", "the attention weights of this model are not where they are expected");
}

AttentionScores Scorer::attention(const AttentionJob& job) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int count = static_cast<int>(job.tokens.size());
  require(!job.starts.empty() && job.starts.front() == 0, "the first chunk starts at 0");
  for (size_t i = 1; i < job.starts.size(); ++i) require(job.starts[i] > job.starts[i - 1], "chunks start in ascending order");
  require(job.starts.back() < count, "a chunk starts behind the prompt");
  AttentionScores scores;
  scores.layers = job.layers == 0 ? context_->model().facts().layers : job.layers;
  require(scores.layers >= 1 && scores.layers <= context_->model().facts().layers, "the model has no such layers");
  scores.chunks = static_cast<int>(job.starts.size());
  scores.sums.assign(static_cast<size_t>(scores.layers) * job.starts.size() * job.starts.size(), 0.0f);
  scores.before.assign(job.tokens.size(), 0.0f);
  Pass pass;
  pass.lastLayer = scores.layers - 1;
  pass.scores = &scores;
  for (int position = 0, chunk = 0; position < count; ++position) {
    if (chunk + 1 < scores.chunks && job.starts[static_cast<size_t>(chunk) + 1] == position) ++chunk;
    pass.chunkOf.push_back(chunk);
  }
  check(job.tokens);
  context_->clear();
  Sequence sequence(*context_, job.tokens, makePlan(job.tokens, job.links, {}, false));
  sequence.link(job.links, true);
  // Linked cells are filled first, in the order of their positions.
  for (const Segment& segment : sequence.plan().segments)
    for (int position = segment.begin; segment.link >= 0 && position < segment.end; ++position)
      pass.chunkOfCell.push_back(pass.chunkOf[static_cast<size_t>(position)]);
  run(sequence, pass);
  return scores;
}

Deviations Scorer::deviations(const DeviationJob& job) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Model& model = context_->model();
  require(job.firstLayer >= 0 && job.firstLayer < job.endLayer && job.endLayer <= model.facts().layers,
          "deviations are of layers that the model has");
  check(job.tokens);
  const BlobFormat& format = context_->format();
  for (const Link& link : job.links) link.blob.check(format, true);
  const Plan plan = makePlan(job.tokens, job.links, {}, false);

  // A full prefill down to the last wanted layer; the keys and values of a layer are stored before its attention weights are there.
  const int count = static_cast<int>(job.tokens.size());
  context_->clear();
  Sequence sequence(*context_, job.tokens, makePlan(job.tokens, {}, {}, false));
  Pass pass;
  pass.lastLayer = job.endLayer - 1;
  run(sequence, pass);
  Export all = sequence.beginExport(0, count);
  sequence.exportPiece(all, SIZE_MAX);
  const BlobView computed(all.blob.data.get(), all.blob.size);

  KeyMover& mover = context_->keys();
  const size_t keyRow = format.keyRowBytes, valueRow = format.valueRowBytes;
  const ggml_type type = static_cast<ggml_type>(format.kvType);
  const int64_t valueWidth = static_cast<int64_t>(valueRow / ggml_type_size(type)) * ggml_blck_size(type);
  std::vector<float> one(static_cast<size_t>(std::max<int64_t>(mover.width(), valueWidth))), other(one.size());
  const auto distance = [&](int64_t width) {
    float sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(width); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
    return sum;
  };
  const auto readValues = [&](const uint8_t* row, float* to) {
    if (type == GGML_TYPE_F32)
      std::memcpy(to, row, valueRow);
    else
      ggml_get_type_traits(type)->to_float(row, to, valueWidth);
  };
  Deviations deviations;
  deviations.keys.assign(job.tokens.size(), 0.0f);
  deviations.values.assign(job.tokens.size(), 0.0f);
  for (const Segment& segment : plan.segments) {
    if (segment.link < 0) continue;
    const Link& link = job.links[static_cast<size_t>(segment.link)];
    const Rotation rotation(context_->rope(), static_cast<int64_t>(link.position) - link.blob.header().first);
    for (int layer = job.firstLayer; layer < job.endLayer; ++layer)
      for (int position = segment.begin; position < segment.end; ++position) {
        const size_t at = static_cast<size_t>(position), row = static_cast<size_t>(position - link.position);
        // Rotated as floats: rounding to the cache's type again is no deviation.
        mover.decode(link.blob.keys(layer) + row * keyRow, one.data());
        rotateRow(rotation, one.data(), model.facts().keyHeads, model.facts().headDimension);
        mover.decode(computed.keys(layer) + at * keyRow, other.data());
        deviations.keys[at] += distance(mover.width());
        readValues(link.blob.values(layer) + row * valueRow, one.data());
        readValues(computed.values(layer) + at * valueRow, other.data());
        deviations.values[at] += distance(valueWidth);
      }
  }
  return deviations;
}

}  // namespace precedent
