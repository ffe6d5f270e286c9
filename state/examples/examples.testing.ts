// Examples for unit tests.
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { exampleBytes } from "../../algorithms/selection/example-bytes.ts";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import type { Example } from "../../schemas/types.ts";

/** The unit vector along axis i. */
export const axis = (i: number, dimension = 4): Float32Array =>
  Float32Array.from({ length: dimension }, (_, j) => (i === j ? 1 : 0));

/**
 * One of tenant acme, domain acme/default; its id follows from domain and texts, its vector is
 * axis(0), embedded by "test".
 */
export function anExample({ vector = axis(0), ...over }: Partial<Example> & { vector?: Float32Array } = {}): Example {
  const { tenant = "acme", request = "list all files", response = "ls -a" } = over;
  const domain = over.domain ?? sharingDomain(tenant, null);
  const embedding = embeddingToBytes(vector);
  return plainExample({
    id: exampleId(domain, request, response),
    ...{ tenant, domain, request, response, embedding },
    source: { arm: "large", model: "big", requestId: null },
    bytes: exampleBytes(request, response, vector.length),
    createdAt: 1_700_000_000_000,
    ...over,
  });
}
