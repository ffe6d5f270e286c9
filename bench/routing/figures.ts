// Figures of a measured log by the names of the specification, each with the interval of a paired
// bootstrap: prompts are drawn with replacement, all policies' answers to one together, and of the
// router's passes the orders, since what it learns depends on which requests come first.
import type { Random } from "../../algorithms/numeric/random.ts";
import { quantile, significant } from "../support/statistics.ts";
import { policies, type AtWeight } from "./mixed.ts";
import { gainOver, meanOf, type Draw, type Tally } from "./tally.ts";

type Gain = (draw: Draw | undefined) => number;

export interface Outcome {
  figures: Record<string, unknown>;
  /** Reason why a figure is null, by its path. */
  reasons: Record<string, string>;
}

const noTasks = "no request of this log has a task";
const noPrice = "this log has no prices";

export function figuresOf(
  measured: readonly AtWeight[],
  requests: readonly string[],
  random: Random,
  resamples: number,
) {
  const orders = measured[0]!.tallies.router_cold?.orders?.length ?? 0;
  const draws = resampled(requests, random, resamples).map((rows) => ({ rows, orders: drawn(orders, random) }));
  const figures: Record<string, unknown> = {};
  const reasons: Record<string, string> = {};
  const interval = (gain: Gain) => {
    const values = draws.map(gain).filter(Number.isFinite);
    const value = gain(undefined);
    if (!Number.isFinite(value) || values.length === 0) return null;
    return [value, quantile(values, 0.025), quantile(values, 0.975)].map((one) => significant(one));
  };
  const set = (name: string, gain: Gain, why: string): void => {
    const found = interval(gain);
    if (found === null) reasons[name] = why;
    figures[name] = found?.[0] ?? null;
    figures[`${name}_low`] = found?.[1] ?? null;
    figures[`${name}_high`] = found?.[2] ?? null;
  };

  const free = measured[0]!;
  const taxed = measured.slice(1);
  const halfGain = gainOf(free, "router_half");
  set("cold_gain", gainOf(free, "router_cold"), "nothing was answered");
  set("half_gain", halfGain, "nothing was answered");
  const { fitted, per_task: perTask, best_constant: best } = free.tallies;
  const [ofFitted, ofTasks] = [gainOver(fitted!, best!), perTask && gainOver(perTask, best!)];
  set(
    "fitted_share",
    (draw) => (ofTasks === null ? Number.NaN : meanOf(ofFitted, draw) / meanOf(ofTasks, draw)),
    perTask === null ? noTasks : "one arm is best for every task",
  );
  set("free_loss", (draw) => -halfGain(draw), "nothing was answered");
  for (const [name, policy] of [
    ["half_won", "router_half"],
    ["cold_won", "router_cold"],
    ["warm_won", "router_warm"],
  ] as const) {
    figures[name] = taxed.length === 0 ? null : taxed.filter((one) => gainOf(one, policy)(undefined) > 0).length;
    if (taxed.length === 0) reasons[name] = noPrice;
  }
  const gaps = measured.map(({ tallies }) => tallies.per_task && gainOver(tallies.per_task, tallies.fitted!));
  set("fitted_gap", (draw) => Math.max(...gaps.map((gap) => (gap === null ? Number.NaN : meanOf(gap, draw)))), noTasks);
  figures.gains = Object.fromEntries(
    measured.map((one) => {
      const [half, low, high] = interval(gainOf(one, "router_half")) ?? [];
      return [one.weight, { cold: significant(gainOf(one, "router_cold")(undefined)), half, low, high }];
    }),
  );
  figures.worth = Object.fromEntries(
    measured.map(({ weight, tallies }) => [
      weight,
      Object.fromEntries(
        policies.map((policy) => [policy, tallies[policy] === null ? null : significant(meanOf(tallies[policy]))]),
      ),
    ]),
  );
  figures.constants = Object.fromEntries(
    measured.map(({ weight, constants }) => [
      weight,
      Object.fromEntries(Object.entries(constants).map(([arm, value]) => [arm, significant(value)])),
    ]),
  );
  if (perTask === null) for (const { weight } of measured) reasons[`worth.${weight}.per_task`] = noTasks;
  return { figures, reasons } satisfies Outcome;
}

/** Worth of a policy less that of the best constant arm in hindsight, on the same answers. */
const gainOf = ({ tallies }: AtWeight, policy: (typeof policies)[number]): Gain => {
  const gain: Tally = gainOver(tallies[policy]!, tallies.best_constant!);
  return (draw) => meanOf(gain, draw);
};

/** Prompts drawn with replacement, as weights of the rows: all rows of a prompt together. */
export function resampled(requests: readonly string[], random: Random, count: number): Float64Array[] {
  const numbers = new Map<string, number>();
  const groups = requests.map((request) => {
    const known = numbers.get(request);
    if (known !== undefined) return known;
    numbers.set(request, numbers.size);
    return numbers.size - 1;
  });
  return Array.from({ length: count }, () => {
    const times = drawn(numbers.size, random);
    return Float64Array.from(groups, (group) => times[group]!);
  });
}

/** How often each of `size` things is drawn in as many draws with replacement. */
function drawn(size: number, random: Random): number[] {
  const times = new Array<number>(size).fill(0);
  for (let i = 0; i < size; i++) times[Math.floor(random() * size)]!++;
  return times;
}
