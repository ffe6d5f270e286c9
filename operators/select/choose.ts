// Which rated candidates an arm is shown, in what order, and why not the others
// (docs/design/selection.md, The choice): helpful, different, within budget. Pure.
import { dot } from "../../algorithms/selection/embedding.ts";
import { noTenant } from "../../algorithms/selection/shared-domains.ts";
import type { HeldExample } from "../../state/examples/port.ts";
import type { ExampleTrial } from "../../schemas/types.ts";
import { bestLast, type DrawnOrder } from "../../algorithms/selection/example-order.ts";
import type { SelectedExample } from "../flow.ts";
import type { Unfit } from "./screen.ts";

export interface Rated {
  example: HeldExample;
  similarity: number;
  vector: Float32Array;
  tokens: number;
  /** [0, 1]; NaN is never shown. */
  helpfulness: number;
  /** Where its helpfulness features stand among the arm's rated candidates; -1: it is not rated. */
  row: number;
  /** A row of helpfulness features; empty: not made. Read for few, so a function. */
  features: (row: number) => number[];
  /** Whether the arm holds the example's cache (caches.ts); absent: unknown. */
  cached?: boolean;
  /** Why it can't be shown at all; null when it can. */
  unfit: Unfit | null;
}

export interface ChooseLimits {
  examples: number;
  /** tau: helpfulness below it is not shown, [0, 1]. */
  threshold: number;
  tokenBudget: number;
  /** Cosine from which an example says the same as one already taken. */
  nearDuplicate: number;
  /** Added to the helpfulness of cached ones in the ranking only. Default 0. */
  cachedBonus?: number;
  /** Ids of candidates that are tried before all others; they count as cached. */
  first?: ReadonlySet<string>;
  /** The prompt's tenant: any other has half of the examples at most, or one. Absent: all. */
  tenant?: string;
}

/** pick in [0, 1): which candidate; shown: forced in or kept out. */
export interface TrialDraw {
  pick: number;
  shown: boolean;
  /** With which `shown` was drawn. */
  probability: number;
}

export type Reason =
  | Unfit
  | "shown"
  | "forced_in"
  | "kept_out"
  | "below_threshold"
  | "near_duplicate"
  /** Larger than the whole budget. */
  | "oversized"
  /** Larger than what the taken ones left of it. */
  | "over_budget"
  /** Its tenant, another than the asker, has its share of the prompt. */
  | "one_tenant"
  | "too_many";

export interface Verdict {
  candidate: Rated;
  reason: Reason;
  /** For reason near_duplicate: the id of the example that was taken. */
  of: string | null;
}

export interface Chosen {
  /** In prompt order, the most helpful last. */
  examples: SelectedExample[];
  order: DrawnOrder;
  trial: ExampleTrial | null;
  readonly settled: readonly Verdict[];
  readonly open: number;
  /** One per candidate, in their order; made when read. */
  readonly verdicts: readonly Verdict[];
}

/** By id at last, so that the same candidates always give the same prompt. */
const mostHelpfulFirst = (a: Rated, b: Rated): number =>
  b.helpfulness - a.helpfulness ||
  b.similarity - a.similarity ||
  (a.example.id < b.example.id ? -1 : a.example.id > b.example.id ? 1 : 0);

export function chooseExamples(
  candidates: readonly Rated[],
  limits: ChooseLimits,
  draw: TrialDraw | null = null,
): Chosen {
  const settled: Verdict[] = [];
  const settle = (candidate: Rated, reason: Reason, of: string | null = null): void => {
    settled.push({ candidate, reason, of });
  };
  const possible = candidates.filter((candidate) => {
    const reason = impossible(candidate, limits.tokenBudget);
    if (reason !== null) settle(candidate, reason);
    return reason === null;
  });

  // Drawn from all that could be shown, whatever is predicted of them: the prediction is what the
  // trial is to judge.
  const tried = draw === null || limits.examples === 0 ? undefined : possible[Math.floor(draw.pick * possible.length)];
  if (tried !== undefined && draw?.shown === false) settle(tried, "kept_out");

  const open: Rated[] = [];
  for (const candidate of possible.sort(mostHelpfulFirst)) {
    if (candidate === tried) continue;
    if (candidate.helpfulness >= limits.threshold) open.push(candidate);
    else settle(candidate, "below_threshold");
  }
  const rank = (candidate: Rated): number =>
    limits.first?.has(candidate.example.id) === true ? Infinity : candidate.helpfulness + bonusOf(candidate, limits);
  open.sort((a, b) => compare(rank(b), rank(a)));

  const taken: Rated[] = [];
  const mostOfOne = Math.max(1, Math.floor(limits.examples / 2));
  const hasShare = ({ example: { tenant } }: Rated): boolean =>
    limits.tenant !== undefined &&
    tenant !== limits.tenant &&
    tenant !== noTenant &&
    taken.filter(({ example }) => example.tenant === tenant).length >= mostOfOne;
  let left = limits.tokenBudget;
  const take = (candidate: Rated, reason: Reason): void => {
    taken.push(candidate);
    settle(candidate, reason);
    left -= candidate.tokens;
  };

  if (tried !== undefined && draw?.shown === true) take(tried, "forced_in");
  let next = 0;
  for (; next < open.length && taken.length < limits.examples; next++) {
    const candidate = open[next]!;
    const twin = twinOf(candidate, taken, limits.nearDuplicate);
    if (twin !== undefined) settle(candidate, "near_duplicate", twin.example.id);
    else if (hasShare(candidate)) settle(candidate, "one_tenant");
    else if (candidate.tokens <= left) take(candidate, "shown");
    else settle(candidate, "over_budget");
  }
  open.splice(0, next);

  return {
    // A copy: those that are open are compared with the taken ones in their order.
    examples: [...taken]
      .sort(mostHelpfulFirst)
      .reverse()
      .map((candidate) => selectedExample(candidate, candidate === tried, bonusOf(candidate, limits))),
    order: bestLast,
    trial: tried === undefined || draw === null ? null : trialOf(tried, draw),
    settled: settled.slice(),
    open: open.length,
    get verdicts() {
      for (const one of open.splice(0)) {
        const twin = twinOf(one, taken, limits.nearDuplicate);
        if (twin === undefined) settle(one, "too_many");
        else settle(one, "near_duplicate", twin.example.id);
      }
      const byCandidate = new Map(settled.map((verdict) => [verdict.candidate, verdict]));
      return candidates.map(
        (candidate): Verdict => byCandidate.get(candidate) ?? { candidate, reason: "unusable", of: null },
      );
    },
  };
}

/** The taken one with nearly the same question; equal answers are evidence (NOTES.md). */
const twinOf = (one: Rated, taken: readonly Rated[], nearDuplicate: number): Rated | undefined =>
  taken.find(({ vector }) => !(dot(vector, one.vector) < nearDuplicate));

function impossible({ unfit, helpfulness, tokens }: Rated, tokenBudget: number): Reason | null {
  if (unfit !== null) return unfit;
  // Before helpfulness: what fits no arm is not rated.
  if (!(tokens <= tokenBudget)) return "oversized";
  return Number.isFinite(helpfulness) ? null : "unusable";
}

const bonusOf = ({ cached = false, example }: Rated, { cachedBonus = 0, first }: ChooseLimits): number =>
  (first?.has(example.id) ?? cached) ? cachedBonus : 0;

/** Infinities are equal. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

const selectedExample = (candidate: Rated, explored: boolean, cachedBonus: number): SelectedExample => {
  const { id, request, response } = candidate.example;
  const { similarity, helpfulness, tokens, row, features } = candidate;
  return {
    id,
    request,
    response,
    similarity,
    helpfulness,
    tokens,
    explored,
    cachedBonus,
    features: features(row),
  };
};

const trialOf = ({ example, similarity, helpfulness, row, features }: Rated, draw: TrialDraw): ExampleTrial => ({
  id: example.id,
  shown: draw.shown,
  probability: draw.probability,
  similarity,
  helpfulness,
  features: features(row),
});
