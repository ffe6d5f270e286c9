// What never enters a prompt: examples of other tenants or domains or of this very request, broken
// vectors, texts that are none. Pure.
import { isUnit } from "../../algorithms/selection/example-traits.ts";
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { Candidate } from "../../state/examples/port.ts";

export type Unfit = "foreign" | "not_shared" | "own_request" | "unusable" | "not_similar" | "unsafe";

export interface Asker {
  requestId: string;
  tenant: string;
  domain: string;
  sharedDomain: string | null;
  vector: Float32Array;
}

/** Why this asker may not see the example; null: permitted. */
export function barred(
  example: Pick<Candidate["example"], "domain" | "tenant" | "source">,
  asker: Omit<Asker, "vector">,
  { gives }: Pick<SharedDomains, "gives">,
): Unfit | null {
  if (example.domain === asker.sharedDomain) {
    // Its tenant does not share any more.
    if (!gives(example.tenant, asker.sharedDomain)) return "not_shared";
  } else if (example.tenant !== asker.tenant || example.domain !== asker.domain) return "foreign";
  return example.source.requestId === asker.requestId ? "own_request" : null;
}

/** Why the candidate can't be shown to this asker; null: it can. minimumSimilarity: [-1, 1]. */
export function unfit(
  { example, similarity, vector, traits }: Candidate,
  asker: Asker,
  minimumSimilarity: number,
  sharing: Pick<SharedDomains, "gives">,
): Unfit | null {
  const bar = barred(example, asker, sharing);
  if (bar !== null) return bar;
  if (!Number.isFinite(similarity) || vector.length !== asker.vector.length) return "unusable";
  if (!(traits?.isUnit ?? isUnit(vector))) return "unusable";
  return similarity < minimumSimilarity ? "not_similar" : null;
}
