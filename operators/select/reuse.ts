// Which example's answer an arm of type reuse may give to a request as it is, if any: one near
// enough whose answer is predicted to be the right one. Pure.
import { isSafe } from "../../algorithms/selection/example-traits.ts";
import { reuseQuality } from "../../algorithms/routing/reuse-quality.ts";
import type { Request } from "../../schemas/types.ts";
import type { Candidate } from "../../state/examples/port.ts";
import type { SelectedExample } from "../flow.ts";
import { fitsRequest, mayReuse, type ReuseSettings } from "../../arms/reuse/settings.ts";

/** Only the nearest so many are looked at: each costs about 0.1 ms. */
const mostRead = 5;

/** candidates: those that may be shown to the asker, by whatever order; see screen.ts. */
export function reusable(
  { request, question }: { request: Request; question: string },
  candidates: readonly Candidate[],
  settings: ReuseSettings,
): SelectedExample | null {
  if (!mayReuse(request, settings)) return null;
  let best: SelectedExample | null = null;
  const near = candidates
    .filter(({ similarity }) => similarity >= settings.minimumSimilarity)
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, mostRead);
  for (const { example, similarity } of near) {
    if (!isSafe(example)) continue;
    if (!fitsRequest(example.response, request.params)) continue;
    const quality = reuseQuality(question, example.request, similarity);
    if (quality < settings.minimumQuality || quality <= (best?.helpfulness ?? 0)) continue;
    best = {
      ...{ id: example.id, request: example.request, response: example.response, similarity, helpfulness: quality },
      ...{ tokens: 0, explored: false, cachedBonus: 0, features: [] },
    };
  }
  return best;
}
