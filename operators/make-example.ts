// The record of a question and its answer as an example. The same pair has the same id.
import { exampleId } from "../algorithms/identity/identity.ts";
import { embeddingToBytes } from "../algorithms/selection/embedding.ts";
import { exampleBytes } from "../algorithms/selection/example-bytes.ts";
import type { Example } from "../schemas/types.ts";

/** domain is tenant/domain, or a shared one. */
type Pair = Pick<Example, "tenant" | "domain" | "request" | "response" | "source" | "quality" | "expiresAt">;

/** vector: of the request, by that model; createdAt in milliseconds since the epoch. */
export function makeExample(
  pair: Pair,
  { vector, model, createdAt }: { vector: Float32Array; model: string; createdAt: number },
): Example {
  const { domain, request, response } = pair;
  return {
    ...{ ...pair, id: exampleId(domain, request, response), replays: 0, createdAt },
    ...{ embedding: embeddingToBytes(vector), embeddingModel: model },
    bytes: exampleBytes(request, response, vector.length),
  };
}
