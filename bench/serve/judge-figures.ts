// How often a judge agrees with the metric on pairs of answers, small model against large. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { tieWithin } from "../../algorithms/routing/comparison.ts";
import type { Figures } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";
import { type Domain, domains } from "./stream.ts";

/** What a judge made of the small model's answer beside the large one's. */
export interface Judged {
  /** How much better it is, [-3, 3]; null: of one order there was no verdict. */
  score: number | null;
  /** Positive for it, the straight order first. */
  verdicts: number[];
  /** Calls without a readable verdict. */
  unread: number;
  cpu_s: number;
}

export interface JudgedPair extends Judged {
  domain: Domain;
  /** 1: the metric prefers the small model's answer, -1: the large one's, 0: neither. */
  metric: number;
}

export const judgeFigures = (pairs: readonly JudgedPair[], resamples: number): Figures => ({
  how: "the large model in both orders, each sampled once; its prompt is the one that serves",
  all: figuresOf(pairs, resamples),
  ...Object.fromEntries(
    domains.flatMap((domain) => {
      const own = pairs.filter((pair) => pair.domain === domain);
      return own.length === 0 ? [] : [[domain, figuresOf(own, resamples)]];
    }),
  ),
});

/** As preferences count: within +-0.3 a tie. */
const preferred = (score: number): number => (Math.abs(score) <= tieWithin ? 0 : Math.sign(score));
/** Share of a win: ties half. */
const won = (preference: number): number => (preference + 1) / 2;

function figuresOf(pairs: readonly JudgedPair[], resamples: number): Figures {
  const judged = pairs.flatMap(({ score, metric }) => (score === null ? [] : [{ by: preferred(score), metric }]));
  const decided = judged.filter(({ metric }) => metric !== 0);
  const both = pairs.flatMap(({ verdicts: [straight, swapped], unread }) =>
    unread > 0 ? [] : [{ straight: straight!, swapped: swapped! }],
  );
  const share = (values: readonly number[]): number | null => (values.length === 0 ? null : significant(mean(values)));
  return {
    n: pairs.length,
    judged: judged.length,
    differ: decided.length,
    // Among pairs that the metric tells apart; a tie counts half, as a coin would.
    agrees: withInterval(
      decided.map(({ by, metric }) => won(by * metric)),
      resamples,
    ),
    ties: share(judged.map(({ by }) => Number(by === 0))),
    // Verdicts are turned so that positive means the small model: opposite signs mean one position.
    same_position: share(both.map(({ straight, swapped }) => Number(straight * swapped < 0))),
    small_wins: {
      metric: share(judged.map(({ metric }) => won(metric))),
      judge: share(judged.map(({ by }) => won(by))),
    },
    unread: share(pairs.map(({ unread }) => unread / 2)),
    cpu_s: significant(mean(pairs.map(({ cpu_s: seconds }) => seconds))),
  };
}

function withInterval(values: readonly number[], resamples: number): Figures | null {
  if (values.length === 0) return null;
  const coin = values.map(() => 0);
  const { difference, low, high } = pairedBootstrap(values, coin, { random: splitmix64(13), resamples });
  return { share: significant(difference), low: significant(low), high: significant(high) };
}
