// A plan of capacity: what requests meet at the arms with the workers that there are, and with
// those that are asked about.
import { attainment, goodput, type Objectives } from "../../algorithms/queueing/arm-queues/goodput.ts";
import { quantilesOf } from "../../algorithms/numeric/quantile.ts";
import { simulateArms, type ArmPlaces, type Workload } from "../../algorithms/queueing/arm-queues/simulate.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { placesOf, type KnownArm } from "./models.ts";
import { workloadOf, type Request } from "./requests.ts";

export interface Quantiles {
  p50: number;
  p90: number;
  p99: number;
}

export interface Prediction {
  /** Milliseconds. */
  queue: Quantiles;
  firstToken: Quantiles;
  total: Quantiles;
  /** Share of the requests within both objectives. */
  attainment: number;
  /** Requests a second. */
  goodput: number;
  /** What the goodput's rate attains; of requests one by one where none is enough. */
  goodputAttainment: number;
  arms: { arm: string; share: number; workers: number; places: number; utilisation: number }[];
}

export interface PlanOptions {
  /** By arrival, all at arms that have a model. */
  requests: readonly Request[];
  arms: readonly KnownArm[];
  /** Logged planning times, milliseconds. */
  planMs: Float64Array;
  objectives: Objectives;
  /** Share of the requests that must meet the objectives. */
  wanted: number;
  /** So many times as many requests in the same time. */
  traffic: number;
  /** How requests come when a rate is tried: one by one at random, or as they did. */
  pattern: "poisson" | "trace";
  seed: number;
}

/** A rate is tried with at least so many requests, and with no more than the latter. */
const tried = { least: 20_000, most: 50_000 };

/** Predictions with the workers that there were, and with each of these. */
export function planCapacity(options: PlanOptions, asked: readonly ReadonlyMap<string, number>[]): Prediction[] {
  const { requests, arms, planMs, traffic, seed } = options;
  const models = arms.map(({ model }) => model);
  const whole = workloadOf(requests, models, planMs, splitmix64(seed));
  const begin = whole.arrival[0] ?? 0;
  const now = { ...whole, arrival: whole.arrival.map((at) => (at - begin) / traffic) };
  const unit = unitRate(options);
  return [undefined, ...asked].map((workers) => predictionOf(options, now, unit, placesOf(arms, workers)));
}

function predictionOf(
  { arms, objectives, wanted, requests }: PlanOptions,
  now: Workload,
  unit: Workload,
  places: readonly ArmPlaces[],
): Prediction {
  const seen = simulateArms(now, places);
  const at = (rate: number): number =>
    attainment(simulateArms({ ...unit, arrival: unit.arrival.map((time) => time / rate) }, places), objectives);
  const found = goodput(at, wanted);
  const counts = arms.map(() => 0);
  for (const { arm } of requests) counts[arm] = counts[arm]! + 1;
  return {
    ...{ queue: quantiles(seen.queueMs), firstToken: quantiles(seen.firstTokenMs), total: quantiles(seen.totalMs) },
    ...{ attainment: attainment(seen, objectives), goodput: found.ratePerSecond, goodputAttainment: found.attainment },
    arms: arms.map(({ arm }, i) => ({
      ...{ arm, share: counts[i]! / Math.max(1, requests.length), utilisation: seen.utilisation[i]! },
      ...places[i]!,
    })),
  };
}

function quantiles(values: Float64Array): Quantiles {
  const [p50 = 0, p90 = 0, p99 = 0] = quantilesOf(values, [0.5, 0.9, 0.99]);
  return { p50, p90, p99 };
}

/** Requests that come at one a second on average. */
function unitRate({ requests, arms, planMs, pattern, seed }: PlanOptions): Workload {
  const random = splitmix64(BigInt(seed) + 1n);
  const n = Math.max(tried.least, Math.min(tried.most, requests.length));
  const picked: Request[] = [];
  const [first, last] = [requests[0]?.arrival ?? 0, requests.at(-1)?.arrival ?? 0];
  const gap = Math.max(1e-9, (last - first) / Math.max(1, requests.length - 1));
  let at = 0;
  for (let i = 0; i < n; i++) {
    const round = Math.floor(i / requests.length);
    const one = requests[pattern === "trace" ? i % requests.length : Math.floor(random() * requests.length)]!;
    at =
      pattern === "trace"
        ? (round * requests.length + (one.arrival - first) / gap) * 1_000
        : at - 1_000 * Math.log(1 - random());
    picked.push({ ...one, arrival: at });
  }
  return workloadOf(
    picked,
    arms.map(({ model }) => model),
    planMs,
    random,
  );
}
