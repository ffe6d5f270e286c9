// x of each request as plan makes it, for arms that are shown no examples. Embeddings are computed
// once and kept, in parts, so that a run that was broken off goes on.
import { createFeatures, FEATURE_NAMES } from "../../algorithms/routing/features.ts";
import type { Precision } from "../../connections/embedder/precision.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";

const part = 1_000;
const costAt = FEATURE_NAMES.indexOf("armCost");

export interface Contexts {
  vectors: Float32Array[];
  /** x of a row for an arm of this cost. */
  at(row: number, cost: number): number[];
}

export async function contextsOf(
  requests: readonly string[],
  context: BenchContext,
  precision?: Precision,
): Promise<Contexts> {
  const distinct = [...new Set(requests)];
  const byText = new Map<string, Float32Array>();
  for (let from = 0; from < distinct.length; from += part) {
    context.signal.throwIfAborted();
    const texts = distinct.slice(from, from + part);
    const { vectors } = await embeddings(texts, context, precision);
    for (const [i, bytes] of vectors.entries())
      byText.set(
        texts[i]!,
        Float32Array.from({ length: bytes.length / 4 }, (_, k) => bytes.readFloatLE(4 * k)),
      );
  }
  const features = createFeatures();
  const vectors = requests.map((request) => byText.get(request)!);
  const known = requests.map((request, i) =>
    features({
      ...{ question: request, promptCharacters: request.length, messages: 1 },
      ...{ embedding: vectors[i]!, examples: [], cost: 0 },
    }),
  );
  return {
    vectors,
    at: (row, cost) => known[row]!.map((value, k) => (k === costAt ? cost : value)),
  };
}
