// An embedder without a model, for unit tests only: words hashed into a vector, so that texts that
// share words are near.
import { createHash } from "node:crypto";
import type { Embedder } from "./port.ts";

export function createHashEmbedder(dimension = 64): Embedder {
  const embed = (text: string): Float32Array => {
    const vector = new Float32Array(dimension);
    for (const word of ["", ...(text.toLowerCase().match(/\p{L}+|\p{N}+/gu) ?? [])]) {
      const digest = createHash("sha256").update(word).digest();
      const at = digest.readUInt32LE(0) % dimension;
      vector[at] = (vector[at] ?? 0) + (word === "" ? 0.1 : 1);
    }
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  return {
    model: `hash-${dimension}`,
    dimension,
    embed: async (text) => embed(text),
    embedAll: async (texts, onProgress) =>
      texts.map((text, i) => {
        onProgress?.(i + 1);
        return embed(text);
      }),
    figures: () => ({ waiting: 0, background: 0, computed: 0, cached: 0, refused: 0 }),
    close: async () => undefined,
  };
}
