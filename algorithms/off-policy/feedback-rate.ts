// Who gives feedback, and on what: the share of decisions with a reward by arm, length of the
// prompt and domain. Where it differs between arms, the rewards that are there are no fair sample
// (missing not at random); weighting a reward by the inverse of its share corrects for what these
// three explain.

/** Decisions of one kind, and how many of them got a reward. */
export interface FeedbackCell {
  arm: string;
  /** Lengths in classes; 0 is the shortest. */
  length: number;
  domain: string;
  decisions: number;
  rewarded: number;
}

export interface ArmRate {
  arm: string;
  decisions: number;
  rewarded: number;
  /** rewarded / decisions. */
  rate: number;
}

export interface FeedbackRates {
  arms: ArmRate[];
  /** Largest rate of an arm over the smallest; Infinity where an arm got no feedback at all. */
  ratio: number;
  /** Feedback is missing by arm: what is left may be biased. */
  uneven: boolean;
  /** Probability of feedback for a decision of this kind, in [leastRate, 1]. */
  rateOf(arm: string, length: number, domain: string): number;
}

/** Rates that differ by more between arms are warned of. */
const unevenRatio = 2;
/** A weight of more than 100 for one reward would be all that is heard. */
export const leastRate = 0.01;
/** A cell is drawn towards its arm's rate as by so many decisions. */
const drawn = 20;

/** Classes of length for a component of the context in [0, 1]. */
export const lengthClass = (share: number): number => Math.min(7, Math.max(0, Math.floor(share * 8)));

export function feedbackRates(cells: readonly FeedbackCell[]): FeedbackRates {
  const sums = new Map<string, { decisions: number; rewarded: number }>();
  const byCell = new Map<string, { decisions: number; rewarded: number }>();
  for (const cell of cells) {
    add(sums, cell.arm, cell);
    add(byCell, keyOf(cell.arm, cell.length, cell.domain), cell);
  }
  const arms = [...sums]
    .map(([arm, { decisions, rewarded }]) => ({ arm, decisions, rewarded, rate: rewarded / decisions }))
    .filter(({ decisions }) => decisions > 0)
    .sort((one, other) => (one.arm < other.arm ? -1 : 1));
  const rates = arms.map(({ rate }) => rate);
  const ratio = rates.length === 0 || Math.max(...rates) === 0 ? 1 : Math.max(...rates) / Math.min(...rates);
  return {
    arms,
    ratio,
    uneven: ratio > unevenRatio,
    rateOf(arm, length, domain) {
      const known = sums.get(arm) ?? { decisions: 0, rewarded: 0 };
      const base = known.decisions === 0 ? 1 : known.rewarded / known.decisions;
      const { decisions, rewarded } = byCell.get(keyOf(arm, length, domain)) ?? { decisions: 0, rewarded: 0 };
      return Math.min(1, Math.max(leastRate, (rewarded + drawn * base) / (decisions + drawn)));
    },
  };
}

const keyOf = (arm: string, length: number, domain: string): string => JSON.stringify([arm, length, domain]);

function add(
  into: Map<string, { decisions: number; rewarded: number }>,
  key: string,
  { decisions, rewarded }: FeedbackCell,
): void {
  const before = into.get(key) ?? { decisions: 0, rewarded: 0 };
  into.set(key, { decisions: before.decisions + decisions, rewarded: before.rewarded + rewarded });
}
