// Whether a reuse arm may be chosen (docs/arms.md, reuse): while its error bound is below the
// limit, except on a random share that others answer. There chance says what would have been
// chosen: compared answers are a fair sample and probabilities exact.
import type { Random } from "../../algorithms/numeric/random.ts";
import type { ReuseTrial } from "../../schemas/types.ts";
import { answerCost } from "../../arms/cost.ts";
import type { NearMiss } from "../flow.ts";
import type { Contender, Scored } from "./score.ts";

/** How often an arm's answers in a sharing domain are wrong, at the most; 1: nothing is known. */
export type ReuseBound = (arm: string, domain: string) => number;

export interface Weighed {
  contenders: readonly Contender[];
  /** Those that could have been but for the arm's state and chance. */
  all: readonly Contender[];
  trial: ReuseTrial | null;
}

export function weighReuse(
  all: readonly Contender[],
  { domain, bound, random }: { domain: string; bound: ReuseBound; random: Random },
): Weighed {
  const own = all.find(({ arm }) => arm.reuse !== undefined);
  const [kept] = own?.examples ?? [];
  if (own?.arm.reuse === undefined || kept === undefined) return { contenders: all, all, trial: null };
  const { verifyShare, limit } = own.arm.reuse;
  const upper = bound(own.arm.name, domain);
  const others = all.filter((one) => one !== own);
  const heldBack = random() < verifyShare && others.length > 0;
  const state = upper <= limit ? (heldBack ? "held_back" : "on") : "off";
  const trial: ReuseTrial = {
    ...{ arm: own.arm.name, exampleId: kept.id, similarity: kept.similarity, quality: kept.helpfulness },
    ...{ bound: upper, state, verifies: false, savedCost: 0 },
  };
  return { contenders: state === "on" ? all : others, all, trial };
}

/** Why no answer could be reused, for people: it was no trial, and nothing learns from it. */
export const missed = (miss: NearMiss | null, bound: (miss: NearMiss) => number): ReuseTrial | null =>
  miss && {
    ...{ arm: miss.arm, exampleId: miss.example.id, similarity: miss.example.similarity },
    ...{ quality: miss.example.helpfulness, bound: bound(miss), state: "near_miss", verifies: false, savedCost: 0 },
  };

export interface Settling {
  /** Chooses among all contenders, with a draw of its own; null: they can't be scored. */
  score: (contenders: readonly Contender[]) => Scored | null;
  /** Scores that the request's arm was drawn by; null: it was not drawn. */
  scored: Scored | null;
  promptCharacters: number;
  answerTokens: number;
}

/** What is logged: whether the answers are compared, and what the reused one saves. */
export function settleReuse(
  { all, trial }: Weighed,
  { score, scored, promptCharacters, answerTokens }: Settling,
): ReuseTrial | null {
  if (trial === null || scored === null) return trial;
  const shadow = trial.state === "on" ? scored : score(all);
  const verifies = trial.state !== "on" && shadow?.scores[shadow.chosen]?.arm === trial.arm;
  const [instead] = (shadow?.scores ?? [])
    .filter(({ arm }) => arm !== trial.arm)
    .sort((one, other) => other.mean - other.bias - (one.mean - one.bias));
  const arm = all.find((one) => one.arm.name === instead?.arm)?.arm;
  const tokens = instead?.examples.reduce((sum, example) => sum + example.tokens, 0) ?? 0;
  const usage = { prompt: Math.ceil(promptCharacters / 4) + tokens, completion: Math.max(1, answerTokens) };
  const savedCost = arm === undefined ? 0 : answerCost(usage, arm.prices);
  return { ...trial, verifies, savedCost };
}
