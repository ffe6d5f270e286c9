// Logs for tests of the estimators.
import { splitmix64 } from "../numeric/random.ts";
import { logOf, type LoggedChoices, type LoggedDecision } from "./log.ts";

/** One decision between arms with these logged probabilities; x is the constant 1 unless given. */
export const decided = (
  logged: readonly number[],
  chosen: number,
  reward: number | null,
  more: { id?: string; x?: readonly number[]; costs?: readonly number[] } = {},
): LoggedDecision => ({
  requestId: more.id ?? "r",
  candidates: logged.map((probability, i) => ({
    arm: "abcdefgh"[i]!,
    logged: probability,
    cost: more.costs?.[i] ?? 0,
    x: more.x ?? [1],
  })),
  chosen,
  reward,
});

/**
 * The log and target of the hand-worked figures: weights 1.6, .4, 2 and 2/3; rewards 1, 0, 1, 1.
 */
export function workedLog(): { log: LoggedChoices; target: Float64Array } {
  const log = logOf(
    [
      decided([0.5, 0.5], 0, 1),
      decided([0.5, 0.5], 1, 0),
      decided([0.25, 0.75], 0, 1),
      decided([0.25, 0.75], 1, 1, { costs: [0.1, 0.5] }),
    ],
    1,
  );
  return { log, target: Float64Array.of(0.8, 0.2, 0.8, 0.2, 0.5, 0.5, 0.5, 0.5) };
}

/** Random decisions between `arms` arms in a context of two numbers; x decides about the reward. */
export function randomLog(seed: number, count: number, arms = 2): { log: LoggedChoices; target: Float64Array } {
  const random = splitmix64(seed);
  const shares = (): number[] => {
    const raw = Array.from({ length: arms }, () => 0.1 + random());
    const total = raw.reduce((sum, one) => sum + one, 0);
    return raw.map((one) => one / total);
  };
  const target: number[] = [];
  const decisions = Array.from({ length: count }, (_, i) => {
    target.push(...shares());
    const x = [1, random() * 2 - 1];
    const chosen = Math.floor(random() * arms);
    const reward = random() < 0.5 + 0.3 * x[1]! * (chosen === 0 ? 1 : -1) ? 1 : 0;
    return decided(shares(), chosen, reward, { id: `r${i}`, x });
  });
  return { log: logOf(decisions, 2), target: Float64Array.from(target) };
}
