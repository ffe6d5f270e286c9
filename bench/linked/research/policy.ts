// The names of policies that benchmarks compare with those that are served
// (algorithms/linked-prefill/link-policy.ts): measurements found them no better at an equal share
// of recomputed tokens, or too slow (bench/results/NOTES.md). Every one may follow last-M+.
//   blend-R | craft-ALPHA+focus | craft-ALPHA+gap | lego-K | random-R | attended-R
// with R percent and K tokens; focus, gap: only in chunks that the question looks at; lego: the
// first tokens of each chunk but the first (EPIC's LegoLink); random and attended are controls.
import {
  type LinkPolicy,
  parsePolicy,
  type Problem,
  splitLast,
} from "../../../algorithms/linked-prefill/link-policy.ts";

/**
 * How the number of attended chunks is chosen (focus.ts): by the entropy of the gaps between their
 * scores, or by the largest gap.
 */
export type FocusCut = "focus" | "gap";

export interface ResearchPolicy {
  kind: "blend" | "craft" | "lego" | "random" | "attended";
  /** craft: alpha; lego: tokens a chunk; the others: share in [0, 1]. */
  amount: number;
  /** Number of last chunks that are recomputed whole; `kind` applies to the others. */
  last: number;
  /** craft alone, always: chunks out of focus are not repaired. */
  focus?: FocusCut;
}

export type ComparedPolicy = LinkPolicy | ResearchPolicy;

/** A policy that is served, or one of research. */
export function parseCompared(name: string): ComparedPolicy | Problem {
  const served = parsePolicy(name);
  if (!("problem" in served)) return served;
  const { last = 0, rest = "" } = splitLast(name) ?? {};
  const [, kind, digits, cut] =
    /^(blend|craft|lego|random|attended)-(\d{1,4}(?:\.\d{1,4})?)(?:\+(focus|gap))?$/.exec(rest) ?? [];
  const number = Number(digits);
  const focus = cut as FocusCut | undefined;
  if (kind === "craft" && number > 0 && focus !== undefined) return { kind, amount: number, last, focus };
  if (kind === "lego" && number >= 1 && Number.isInteger(number) && focus === undefined)
    return { kind, amount: number, last };
  const isShare = number > 0 && number <= 100 && focus === undefined;
  if (isShare && (kind === "blend" || kind === "random" || kind === "attended"))
    return { kind, amount: number / 100, last };
  return {
    problem: `"${name}" is no policy of linked prefill: neither one that is served (algorithms/linked-prefill/link-policy.ts) nor one of research (bench/linked/research/policy.ts)`,
  };
}

/** As parseCompared; throws for a name that is none. */
export function comparedPolicy(name: string): ComparedPolicy {
  const policy = parseCompared(name);
  if ("problem" in policy) throw new Error(policy.problem);
  return policy;
}

export const isResearch = (policy: ComparedPolicy): policy is ResearchPolicy =>
  "focus" in policy || ["blend", "lego", "random", "attended"].includes(policy.kind);

/**
 * A control that recomputes as many tokens of a prompt as another policy did: "random@craft-0.3".
 */
export function controlOf(name: string): { kind: "random" | "attended"; like: string } | null {
  const [, kind, like] = /^(random|attended)@(.+)$/.exec(name) ?? [];
  return like !== undefined && (kind === "random" || kind === "attended") ? { kind, like } : null;
}
