// Whether an example may be held, before anything is written: whose it is, whether its id can be a
// key, and whether its vector is one.
import { embeddingFromBytes } from "../../algorithms/selection/embedding.ts";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { isSharedDomain } from "../../algorithms/selection/shared-domains.ts";
import type { Example } from "../../schemas/types.ts";

const idPattern = /^[\x21-\x7e]{1,256}$/;

/** vector null: it was embedded by another model. */
export function accept(
  example: Example,
  embedder: { model: string; dimension: number },
): { vector: Float32Array | null } | { reason: string } {
  const { id, tenant, domain } = example;
  if (!idPattern.test(id)) return { reason: "its id is not 1 to 256 printable ASCII characters" };
  const own = sharingDomain(tenant, null);
  // Whose may be shown from a shared domain is asked when they are (operators/select/screen.ts).
  if (!isSharedDomain(domain) && !domain.startsWith(own.slice(0, own.lastIndexOf("/") + 1)))
    return { reason: `its domain ${domain} is not one of its tenant ${tenant}` };
  if (example.embeddingModel !== embedder.model) return { vector: null };
  const vector = embeddingFromBytes(example.embedding, embedder.dimension);
  return vector instanceof Float32Array ? { vector } : vector;
}
