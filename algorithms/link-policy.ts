// The names of recomputation policies, as they stand in the configuration, in requests and in ClickHouse (docs/design/linked-prefill.md, Policies).
//   full | naive | attnlink-K | blend-R | craft-ALPHA | last-M | last-M+ANY     K tokens a boundary, R percent, M chunks
//   craft-ALPHA+focus | craft-ALPHA+gap                                          only in the chunks that the question looks at
//   random-R | attended-R | prefix-R                                             controls at an equal share, R percent

export type PolicyKind = "full" | "naive" | "attnlink" | "blend" | "craft" | "random" | "attended" | "prefix";

/** How many chunks the question is said to look at (focus.ts): by the entropy of the gaps between their scores, or by the largest gap. */
export type FocusCut = "focus" | "gap";

export interface LinkPolicy {
  kind: PolicyKind;
  /** attnlink: tokens a boundary; craft: alpha; blend, random, attended, prefix: share in [0, 1]; 0 for full and naive. */
  amount: number;
  /** The last so many chunks are recomputed whole, and `kind` goes for the others. */
  last: number;
  /** craft: chunks out of focus are left as they are. */
  focus?: FocusCut;
}

const shares: readonly string[] = ["blend", "random", "attended", "prefix"];

/** What is wrong with the name instead of a policy, to be shown to who wrote it. */
export function parsePolicy(name: string): LinkPolicy | { problem: string } {
  const problem = {
    problem: `"${name}" is no policy of linked prefill: full, naive, attnlink-K, blend-R, craft-ALPHA, craft-ALPHA+focus, last-M or last-M+ANOTHER (such as last-2+attnlink-4)`,
  };
  // No policy is called focus or gap, so these can only say how craft is to be done.
  const [, unfocused = "", cut] = /^(.*?)(?:\+(focus|gap))?$/.exec(name) ?? [];
  const [, last, , rest] = /^(?:last-(\d{1,3}))?(\+)?(.+)?$/.exec(unfocused) ?? [];
  if ((last !== undefined && Number(last) < 1) || unfocused.endsWith("+")) return problem;
  if (cut !== undefined && rest?.startsWith("craft-") !== true) return problem;
  if (rest === undefined) return last === undefined ? problem : { kind: "naive", amount: 0, last: Number(last) };
  if ((last === undefined) === unfocused.includes("+")) return problem;
  if (rest === "full" || rest === "naive") return { kind: rest, amount: 0, last: Number(last ?? 0) };
  const [, kind, digits] = /^(attnlink|blend|craft|random|attended|prefix)-(\d{1,4}(?:\.\d{1,4})?)$/.exec(rest) ?? [];
  if (kind === undefined) return problem;
  const number = Number(digits);
  const valid = kind === "attnlink" ? number >= 1 && Number.isInteger(number) : number > 0;
  if (!valid || (shares.includes(kind) && number > 100)) return problem;
  return {
    kind: kind as PolicyKind,
    amount: shares.includes(kind) ? number / 100 : number,
    last: Number(last ?? 0),
    ...(cut !== undefined && { focus: cut as FocusCut }),
  };
}

/** The name that parsePolicy reads as this policy. */
export function policyName({ kind, amount, last, focus }: LinkPolicy): string {
  const number = shares.includes(kind) ? Number((amount * 100).toPrecision(8)) : amount;
  const named = kind === "full" || kind === "naive" ? kind : `${kind}-${number}`;
  const rest = focus === undefined ? named : `${named}+${focus}`;
  if (last === 0) return rest;
  return kind === "naive" ? `last-${last}` : `last-${last}+${rest}`;
}

/** What has to be known of chunks for a policy to choose tokens; with `focus`, which of them the question looks at as well. */
export function needs({ kind }: LinkPolicy): "nothing" | "deviation" | "impact" | "attention" {
  if (kind === "blend") return "deviation";
  if (kind === "craft") return "impact";
  return kind === "attended" ? "attention" : "nothing";
}
