// The system against its large arm alone, question by question: cost, quality, and what an interval
// over the questions allows one to say. Pure.
import { bootstrapInterval } from "../../algorithms/off-policy/bootstrap.ts";
import type { Interval } from "../../algorithms/off-policy/ratio.ts";

/** An answer's cost in the prices' currency, and its score in [0, 1]. */
export interface Scored {
  cost: number;
  score: number;
}

/** A question's answer by the system, and by the large arm; the same one where that was chosen. */
export interface Pair {
  system: Scored;
  large: Scored;
}

export interface Comparison {
  questions: number;
  /** The system's cost over the large arm's, with its interval; null without costs to divide by. */
  costShare: { value: number; interval: Interval | null } | null;
  /** Mean scores, and their difference: the system's less the large arm's. */
  scores: { system: number; large: number; difference: number; interval: Interval | null };
}

export const confidence = 0.95;
/** Fewer questions get no interval: resampling them would make it too narrow. */
export const fewest = 20;
/** Scores that differ by less count as equal. */
const equalWithin = 0.05;

export function compare(pairs: readonly Pair[]): Comparison {
  const [ours, theirs] = [pairs.map(({ system }) => system), pairs.map(({ large }) => large)];
  const interval = (numerator: Float64Array, denominator: Float64Array | null): Interval | null =>
    pairs.length < fewest ? null : bootstrapInterval({ numerator, denominator }, null, { seed: 1, confidence });
  const differences = pairs.map(({ system, large }) => system.score - large.score);
  const paid = theirs.reduce((sum, { cost }) => sum + cost, 0);
  return {
    questions: pairs.length,
    costShare:
      paid > 0
        ? {
            value: ours.reduce((sum, { cost }) => sum + cost, 0) / paid,
            interval: interval(
              Float64Array.from(ours, ({ cost }) => cost),
              Float64Array.from(theirs, ({ cost }) => cost),
            ),
          }
        : null,
    scores: {
      system: mean(ours.map(({ score }) => score)),
      large: mean(theirs.map(({ score }) => score)),
      difference: mean(differences),
      interval: interval(Float64Array.from(differences), null),
    },
  };
}

/** A sentence that claims no more than both intervals show. */
export function verdictOf({ questions, costShare, scores }: Comparison): string {
  if (questions === 0) return "Not shown: no question was answered by both.";
  if (costShare === null) return "The large arm has no price: there is no cost to compare.";
  const [cost, quality] = [costOf(costShare.interval), qualityOf(scores.interval)];
  const tooFew = `${questions} ${questions === 1 ? "question is" : "questions are"} too few to tell`;
  if (cost === "unknown") return `Not shown: ${tooFew} whether the system costs less than the large arm alone.`;
  if (cost === "more") return "It does not pay here: the system costs more than the large arm alone.";
  switch (quality) {
    case "better":
      return "Shown: the system costs less than the large arm alone, and its answers are better.";
    case "as good":
      return `Shown: the system costs less than the large arm alone, and its answers are at most ${equalWithin} worse.`;
    case "worse":
      return "It costs less, but its answers are worse than those of the large arm alone: a trade, not a gain.";
    case "unknown":
      return `Shown: it costs less. Not shown: ${tooFew} whether its answers are as good as the large arm's.`;
  }
}

function costOf(interval: Interval | null): "less" | "more" | "unknown" {
  if (interval !== null && interval.high < 1) return "less";
  return interval !== null && interval.low > 1 ? "more" : "unknown";
}

function qualityOf(interval: Interval | null): "better" | "as good" | "worse" | "unknown" {
  if (interval === null) return "unknown";
  if (interval.low > 0) return "better";
  if (interval.high < 0) return "worse";
  return interval.low >= -equalWithin ? "as good" : "unknown";
}

/** The mean of the first value, of the first two, and so on. */
export function runningMeans(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value, index) => (sum += value) / (index + 1));
}

const mean = (values: readonly number[]): number => runningMeans(values).at(-1) ?? 0;

/** Fisher-Yates. */
export function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const result = [...all];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other]!, result[last]!];
  }
  return result;
}
