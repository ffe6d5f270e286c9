// What a new context finds out about its model, by computing a few tokens.
#include <algorithm>
#include <cmath>

#include "context.hpp"
#include "failure.hpp"

// There when scattered.patch is linked in.
extern "C" __attribute__((weak)) const int precedent_scattered_batches;

namespace precedent {

// A token alone attends to itself only, wherever it stands: its values are the same at every position, and its keys differ by the
// rotation. So one token at a few positions shows the layout of the cache and that our rotation is the model's, in every layer.
void Context::probe(int sequence) {
  const Token token = model_->facts().vocabulary / 2;
  const int farthest = std::min(4095, std::max(64, model_->facts().trainContext - 1));
  std::vector<std::vector<float>> atZero;
  for (const int position : {0, 1, 37, farthest}) {
    decode({{token, position, sequence, false}});
    if (position == 0) {
      const size_t size = llama_state_seq_get_size(context_, sequence);
      scratch_.resize(size);
      if (size == 0 || llama_state_seq_get_data(context_, scratch_.data(), size, sequence) != size)
        fail("context_failed", "llama.cpp gives no state of a sequence" + because());
      layout_ = readLayout(scratch_.data(), size);
      if (layout_.keyType != options_.kvType || layout_.valueType != options_.kvType ||
        layout_.keyRowBytes != keys_->rowBytes() || layout_.transposed == options_.flashAttention)
        fail("model_unsupported", "the cache is not laid out as its settings say");
    } else {
      readState(sequence, 1);
    }
    const StateReader state(layout_, scratch_.data(), layout_.bytes(1));
    std::vector<uint8_t> row(keys_->rowBytes());
    std::vector<float> values(static_cast<size_t>(keys_->width()));
    const Rotation rotation(rope_, position);
    for (uint32_t layer = 0; layer < layout_.layers; ++layer) {
      state.copyKeys(static_cast<int>(layer), row.data());
      keys_->decode(row.data(), values.data());
      if (position == 0) {
        atZero.push_back(values);
        continue;
      }
      std::vector<float> moved = atZero[layer];
      rotateRow(rotation, moved.data(), model_->facts().keyHeads, model_->facts().headDimension);
      double error = 0, size = 1e-12;
      for (size_t i = 0; i < moved.size(); ++i) {
        error += (moved[i] - values[i]) * (moved[i] - values[i]);
        size += moved[i] * moved[i];
      }
      const double most = ggml_is_quantized(options_.kvType) ? 0.05 : 0.01;
      if (!(std::sqrt(error / size) <= most))
        fail("model_unsupported", "keys of layer " + std::to_string(layer) + " moved by " + std::to_string(position) +
                        " positions are not those that the model computes there: its RoPE is not understood");
    }
    remove(sequence, 0, -1);
  }
  format_.ropeHash = rope_.hash();
  format_.layers = layout_.layers;
  format_.keyRowBytes = layout_.keyRowBytes;
  format_.valueRowBytes = layout_.valueRowBytes;
}

}  // namespace precedent
