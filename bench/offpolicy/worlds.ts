// Synthetic logs with known truth: what every arm earns in a context is a formula, so the value of
// a policy can be computed without a log. Pure: the random source is passed in.
import type { LoggedChoices } from "../../algorithms/off-policy/log.ts";
import { folds } from "../../algorithms/off-policy/log.ts";
import type { Random } from "../../algorithms/numeric/random.ts";

export interface World {
  name: string;
  arms: number;
  /** Sharpness of the logging policy's preferences: 1 flat, 4 peaked. */
  sharpness: number;
  /** How far the rewards drift from the beginning of the log to its end. */
  drift: number;
  /** Whether feedback is missing, more often for some arms and contexts than for others. */
  missing: boolean;
}

const dimension = 4;
/** Chance to explore in every logging policy: no logged probability is below explored / arms. */
const explored = 0.1;

export const worlds: readonly World[] = [
  { name: "2 arms, flat", arms: 2, sharpness: 1, drift: 0, missing: false },
  { name: "2 arms, peaked", arms: 2, sharpness: 4, drift: 0, missing: false },
  { name: "5 arms, flat", arms: 5, sharpness: 1, drift: 0, missing: false },
  { name: "5 arms, peaked", arms: 5, sharpness: 4, drift: 0, missing: false },
  { name: "2 arms, peaked, drifting", arms: 2, sharpness: 4, drift: 0.3, missing: false },
  { name: "5 arms, flat, drifting", arms: 5, sharpness: 1, drift: 0.3, missing: false },
  { name: "2 arms, flat, feedback missing", arms: 2, sharpness: 1, drift: 0, missing: true },
  { name: "5 arms, peaked, feedback missing", arms: 5, sharpness: 4, drift: 0, missing: true },
];

/**
 * Chance of a reward of 1. Not linear in x, so that the reward model is wrong somewhere; `time` in
 * [0, 1] is the place in the log.
 */
function worthOf({ arms, drift }: World, arm: number, x: ArrayLike<number>, time: number): number {
  const angle = (2 * Math.PI * arm) / arms;
  const slope = Math.cos(angle) * x[1]! + Math.sin(angle) * x[2]!;
  const moved = drift * (arm % 2 === 0 ? time - 0.5 : 0.5 - time);
  return Math.min(0.98, Math.max(0.02, 0.5 + 0.3 * slope + 0.15 * x[3]! * x[3]! * (arm % 2 === 0 ? 1 : -1) + moved));
}

/** Shares of the arms by their preferences; sharper ones are more peaked. */
function shares(preferences: readonly number[], sharpness: number, least: number): number[] {
  const powers = preferences.map((one) => Math.exp(sharpness * one));
  const total = powers.reduce((sum, one) => sum + one, 0);
  return powers.map((power) => least / powers.length + (1 - least) * (power / total));
}

/**
 * The policy that is logged leans the wrong way in part; the target leans towards what is earned.
 */
const preferred = (arms: number, x: ArrayLike<number>, turned: number): number[] =>
  Array.from({ length: arms }, (_, arm) => {
    const angle = (2 * Math.PI * arm) / arms + turned;
    return Math.cos(angle) * x[1]! + Math.sin(angle) * x[2]!;
  });
const loggedShares = ({ arms, sharpness }: World, x: ArrayLike<number>): number[] =>
  shares(preferred(arms, x, 1.2), sharpness, explored);
const targetShares = ({ arms }: World, x: ArrayLike<number>): number[] => shares(preferred(arms, x, 0.2), 2.5, 0);

/** Chance of feedback: the first arms are rated more, and so are long prompts (x[1]). */
const heardOf = (arm: number, longer: boolean): number => (arm % 2 === 0 ? 0.8 : 0.35) * (longer ? 1 : 0.6);

const context = (random: Random): number[] => [1, 2 * random() - 1, 2 * random() - 1, 2 * random() - 1];

export interface Sampled {
  log: LoggedChoices;
  target: Float64Array;
  /** Class that feedback depends on, one per decision: 1 where x[1] >= 0. */
  longer: Uint8Array;
}

/** Zeros, to be filled: a builder would be slower than what is measured. */
const emptyLog = (decisions: number, candidates: number): Omit<LoggedChoices, "arms"> => ({
  start: new Int32Array(decisions + 1),
  arm: new Int32Array(candidates),
  logged: new Float64Array(candidates),
  cost: new Float64Array(candidates),
  x: new Float64Array(candidates * dimension),
  dimension,
  chosen: new Int32Array(decisions),
  reward: new Float64Array(decisions),
  fold: new Uint8Array(decisions),
});

/** A log of `count` decisions; NaN where feedback is missing. */
export function sampleLog(world: World, count: number, random: Random): Sampled {
  const { arms } = world;
  const log = emptyLog(count, count * arms);
  const target = new Float64Array(count * arms);
  const longer = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const x = context(random);
    const logged = loggedShares(world, x);
    const wanted = targetShares(world, x);
    let draw = random();
    let chosen = 0;
    while (chosen < arms - 1 && draw >= logged[chosen]!) draw -= logged[chosen++]!;
    for (let arm = 0; arm < arms; arm++) {
      const at = i * arms + arm;
      log.arm[at] = arm;
      log.logged[at] = logged[arm]!;
      target[at] = wanted[arm]!;
      log.x.set(x, at * dimension);
    }
    log.start[i] = i * arms;
    log.chosen[i] = i * arms + chosen;
    log.fold[i] = Math.floor(random() * folds);
    longer[i] = x[1]! >= 0 ? 1 : 0;
    const reward = random() < worthOf(world, chosen, x, i / count) ? 1 : 0;
    const heard = !world.missing || random() < heardOf(chosen, longer[i] === 1);
    log.reward[i] = heard ? reward : Number.NaN;
  }
  log.start[count] = count * arms;
  return { log: { ...log, arms: Array.from({ length: arms }, (_, arm) => `arm${arm}`) }, target, longer };
}

/** The target's value, over contexts and times: a mean of `draws` exact expectations. */
export function trueValue(world: World, draws: number, random: Random): number {
  let sum = 0;
  for (let i = 0; i < draws; i++) {
    const x = context(random);
    const time = (i + 0.5) / draws;
    targetShares(world, x).forEach((share, arm) => (sum += share * worthOf(world, arm, x, time)));
  }
  return sum / draws;
}
