// Which example's answer an arm of type reuse may give to a request as it is, if any: one near
// enough whose answer is predicted to be the right one. Pure.
import { isSafe } from "../../algorithms/selection/example-traits.ts";
import { reuseQuality } from "../../algorithms/routing/reuse-quality.ts";
import type { Request } from "../../schemas/types.ts";
import type { Candidate } from "../../state/examples/port.ts";
import type { SelectedExample } from "../flow.ts";
import { fitsRequest, mayReuse, type ReuseSettings } from "../../arms/reuse/settings.ts";

export interface Reusable {
  /** Its answer may be given. */
  kept: SelectedExample | null;
  /** Where none may: the best of those looked at. */
  nearMiss: SelectedExample | null;
}

/** Only the nearest so many are looked at: each costs about 0.1 ms. */
const mostRead = 5;

/** candidates: those that may be shown to the asker, by whatever order; see screen.ts. */
export function reusable(
  { request, question }: { request: Request; question: string },
  candidates: readonly Candidate[],
  settings: ReuseSettings,
): Reusable {
  if (!mayReuse(request, settings)) return { kept: null, nearMiss: null };
  let best: SelectedExample | null = null;
  let miss: SelectedExample | null = null;
  const nearest = [...candidates].sort((one, other) => other.similarity - one.similarity).slice(0, mostRead);
  for (const { example, similarity } of nearest) {
    // The nearest is read in any case: it says why nothing is reused.
    if (similarity < settings.minimumSimilarity && (best ?? miss) !== null) break;
    if (!isSafe(example)) continue;
    if (!fitsRequest(example.response, request.params)) continue;
    const quality = reuseQuality(question, example.request, similarity);
    const found: SelectedExample = {
      ...{ id: example.id, request: example.request, response: example.response, similarity, helpfulness: quality },
      ...{ tokens: 0, explored: false, cachedBonus: 0, features: [] },
    };
    const isGoodEnough = similarity >= settings.minimumSimilarity && quality >= settings.minimumQuality;
    if (!isGoodEnough && quality > (miss?.helpfulness ?? -1)) miss = found;
    if (isGoodEnough && quality > (best?.helpfulness ?? 0)) best = found;
  }
  return { kept: best, nearMiss: best === null ? miss : null };
}
