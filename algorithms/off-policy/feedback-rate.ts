// Rates of feedback by arm, length of the prompt, domain and whether it was asked for. Where they
// differ, rewards are weighted by the inverse of their probability (missing not at random).

/** asked, unasked: of decisions with a logged chance to be asked about; never: of all others. */
export type Asking = "asked" | "unasked" | "never";

export interface FeedbackCell {
  arm: string;
  /** Lengths in classes; 0 is the shortest. */
  length: number;
  domain: string;
  asking: Asking;
  decisions: number;
  rewarded: number;
}

interface Heard {
  decisions: number;
  rewarded: number;
}

export interface ArmRate extends Heard {
  arm: string;
  rate: number;
}

export interface FeedbackRates {
  arms: ArmRate[];
  /** Largest rate of an arm over the smallest; Infinity where an arm got no feedback at all. */
  ratio: number;
  /** Feedback is missing by arm: the observed rewards may be biased. */
  uneven: boolean;
  /** rewarded / decisions; null: there is no such decision. */
  asking: Record<Asking, number | null>;
  /** Feedback depends on whether it was asked for, so it comes mostly from where it was. */
  selective: boolean;
  /** Decisions that could not be asked about, where none of them has a reward. */
  silent: number;
  /** Probability of feedback of such a decision, in [leastHeard, 1]. */
  rateOf(arm: string, length: number, domain: string, askProbability: number): number;
  askedRateOf(askProbability: number): number;
}

const unevenRatio = 2;
/** Lower bound of an estimated feedback rate. */
export const leastRate = 0.01;
/** Lower bound of the probability of feedback: no reward weighs more than 1,000. */
export const leastHeard = 0.001;
/** Pseudo-decisions with which a cell is shrunk towards its arm's rate. */
const drawn = 20;

export const lengthClass = (share: number): number => Math.min(7, Math.max(0, Math.floor(share * 8)));

export function feedbackRates(cells: readonly FeedbackCell[]): FeedbackRates {
  const byArm = new Map<string, Heard>();
  const byAsking = new Map<string, Heard>();
  const byArmAsking = new Map<string, Heard>();
  const byCell = new Map<string, Heard>();
  for (const cell of cells) {
    add(byArm, cell.arm, cell);
    add(byAsking, cell.asking, cell);
    add(byArmAsking, keyOf(cell.arm, cell.asking), cell);
    add(byCell, keyOf(cell.arm, cell.asking, cell.length, cell.domain), cell);
  }
  const arms = [...byArm]
    .map(([arm, heard]) => ({ arm, ...heard, rate: heard.rewarded / heard.decisions }))
    .filter(({ decisions }) => decisions > 0)
    .sort((one, other) => (one.arm < other.arm ? -1 : 1));
  const ratio = ratioOf(arms.map(({ rate }) => rate));
  const asking = { asked: shareOf(byAsking, "asked"), unasked: shareOf(byAsking, "unasked") };
  const never = shareOf(byAsking, "never");
  const rated = [asking.asked, asking.unasked].filter((rate) => rate !== null);
  const rewarded = cells.some((cell) => cell.rewarded > 0);
  /** Rate of the arm under this asking; the rate of all arms if the arm has no such decision. */
  const baseOf = (arm: string, kind: Asking): number =>
    shareOf(byArmAsking, keyOf(arm, kind)) ?? (byArm.has(arm) ? shareOf(byAsking, kind) : null) ?? 1;
  const cellOf = (arm: string, length: number, domain: string) => (kind: Asking) => {
    const { decisions, rewarded: heard } = byCell.get(keyOf(arm, kind, length, domain)) ?? nothing;
    return (heard + drawn * baseOf(arm, kind)) / (decisions + drawn);
  };
  return {
    ...{ arms, ratio, uneven: ratio > unevenRatio },
    asking: { ...asking, never },
    selective: rated.length === 2 && ratioOf(rated) > unevenRatio,
    silent: never === 0 && rewarded ? byAsking.get("never")!.decisions : 0,
    rateOf: (arm, length, domain, askProbability) => heardWith(askProbability, cellOf(arm, length, domain)),
    askedRateOf: (askProbability) => heardWith(askProbability, (kind) => shareOf(byAsking, kind) ?? 1),
  };
}

/** Probability of feedback, over whether it was asked for. */
function heardWith(askProbability: number, rate: (kind: Asking) => number): number {
  if (!(askProbability > 0)) return within(rate("never"), leastRate);
  const asked = askProbability * within(rate("asked"), leastRate);
  // Who is surely asked has no rate for not being asked.
  return within(askProbability < 1 ? asked + (1 - askProbability) * within(rate("unasked"), 0) : asked, leastHeard);
}

const within = (rate: number, least: number): number => Math.min(1, Math.max(least, rate));
const nothing: Heard = { decisions: 0, rewarded: 0 };

function shareOf(sums: ReadonlyMap<string, Heard>, key: string): number | null {
  const { decisions, rewarded } = sums.get(key) ?? nothing;
  return decisions === 0 ? null : rewarded / decisions;
}

/** Largest over smallest rate; 1 without any feedback. */
const ratioOf = (rates: readonly number[]): number =>
  rates.length === 0 || Math.max(...rates) === 0 ? 1 : Math.max(...rates) / Math.min(...rates);

const keyOf = (...parts: (string | number)[]): string => JSON.stringify(parts);

function add(into: Map<string, Heard>, key: string, { decisions, rewarded }: Heard): void {
  const before = into.get(key) ?? nothing;
  into.set(key, { decisions: before.decisions + decisions, rewarded: before.rewarded + rewarded });
}
