// What the log says of each arm: its service times, how many workers it had, what a request waits
// when the arm is idle; and whether queues on paper come to what the log's own were.
import { idleWaits, mostAtOnce, type ObservedCalls } from "../../algorithms/queueing/arm-queues/observed.ts";
import { quantilesOf } from "../../algorithms/numeric/quantile.ts";
import { fitServiceTimes, leastCalls } from "../../algorithms/queueing/arm-queues/service-times.ts";
import { simulateArms, type ArmPlaces } from "../../algorithms/queueing/arm-queues/simulate.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import { Shortfall } from "./shortfall.ts";
import type { CallLog, LoggedRequest } from "./read.ts";
import { meanOf, workloadOf, type ArmModel } from "./requests.ts";

export interface KnownArm {
  arm: string;
  requests: number;
  /** undefined: too few calls to say anything. */
  model: ArmModel | undefined;
  /** Calls that were under way at once, at most. */
  mostAtOnce: number;
  /** As they were while the log was written. */
  workers: number;
  /** Of one worker. */
  places: number;
}

export interface Places {
  /** Calls that a worker of an arm takes at a time; undefined: not configured. */
  placesOf(arm: string): number | undefined;
  /** Workers that arms had, where it was said; others are counted from the log. */
  workers: ReadonlyMap<string, number>;
}

export function knownArms({ arms, requests }: CallLog, { placesOf, workers }: Places): KnownArm[] {
  const of: LoggedRequest[][] = arms.map(() => []);
  for (const request of requests) of[request.arm]!.push(request);
  return arms.map((arm, i) => {
    const mine = of[i]!;
    const clean = mine.filter((request) => request.clean);
    const atOnce = mostAtOnce(observedOf(mine));
    const places = placesOf(arm) ?? atOnce;
    const times = fitServiceTimes(clean.map((request) => ({ ...request, totalMs: request.serviceMs })));
    const model =
      times === null ? undefined : { times, hops: idleWaits(observedOf(clean), places), mean: meanOf(clean) };
    return {
      ...{ arm, requests: mine.length, model, mostAtOnce: atOnce, places },
      workers: workers.get(arm) ?? Math.max(1, Math.ceil(atOnce / places)),
    };
  });
}

function observedOf(requests: readonly LoggedRequest[]): ObservedCalls {
  const planned = Float64Array.from(requests, ({ arrival, planMs }) => arrival + planMs);
  const began = planned.map((at, i) => at + requests[i]!.queueMs);
  return { planned, began, ended: began.map((at, i) => at + requests[i]!.serviceMs) };
}

/** An arm that so small a share goes to may be left out. */
const small = 0.05;

/**
 * Requests without those of arms that too little is known of. Throws Shortfall where that is more
 * than a few.
 */
export function plannable<R extends { arm: number }>(requests: readonly R[], arms: readonly KnownArm[]): R[] {
  const counts = new Map<number, number>();
  for (const { arm } of requests) counts.set(arm, (counts.get(arm) ?? 0) + 1);
  for (const [i, count] of counts)
    if (arms[i]!.model === undefined && count > small * requests.length)
      throw new Shortfall(tooFew(arms[i]!, count / requests.length));
  return requests.filter(({ arm }) => arms[arm]!.model !== undefined);
}

const tooFew = ({ arm, requests }: Pick<KnownArm, "arm" | "requests">, share: number): string =>
  `arm ${arm} would get ${(100 * share).toFixed(1)} % of the requests, and the log holds ${requests} calls of it, where ${leastCalls} clean ones are needed: widen --since, or send it some`;

export const placesOf = (arms: readonly KnownArm[], workers?: ReadonlyMap<string, number>): ArmPlaces[] =>
  arms.map((one) => ({ workers: workers?.get(one.arm) ?? one.workers, places: one.places }));

export interface Compared {
  logged: number;
  simulated: number;
  /** (simulated - logged) / logged; null: the logged one is 0. */
  error: number | null;
}

/** null as the arm: all together. */
export interface Check {
  arm: string | null;
  requests: number;
  queue: { p50: Compared; p90: Compared };
  total: { p50: Compared; p90: Compared };
}

/** The log's requests at the log's arms, with drawn times, beside what was logged. */
export function checkAgainst(log: CallLog, arms: readonly KnownArm[], random: Random): Check[] {
  const requests = plannable(log.requests, arms);
  const models = arms.map(({ model }) => model);
  const planMs = Float64Array.from(requests, (request) => request.planMs);
  const workload = workloadOf(requests, models, planMs, random);
  const { queueMs, totalMs } = simulateArms(workload, placesOf(arms));
  const of = (arm: number | null): Check => {
    const mine = requests.flatMap((request, i) => (arm === null || request.arm === arm ? [i] : []));
    const logged = mine.map((i) => requests[i]!);
    return {
      ...{ arm: arm === null ? null : arms[arm]!.arm, requests: mine.length },
      queue: compared(
        logged.map((request) => request.queueMs),
        mine.map((i) => queueMs[i]!),
      ),
      total: compared(
        logged.map((request) => request.planMs + request.queueMs + request.serviceMs),
        mine.map((i) => totalMs[i]!),
      ),
    };
  };
  const known = arms.flatMap(({ model }, i) => (model === undefined ? [] : [i]));
  return [of(null), ...(known.length > 1 ? known.map(of) : [])];
}

function compared(logged: readonly number[], simulated: readonly number[]): { p50: Compared; p90: Compared } {
  const [p50, p90] = [0.5, 0.9].map((q) => {
    const [was, is] = [quantilesOf(logged, [q])[0]!, quantilesOf(simulated, [q])[0]!];
    return { logged: was, simulated: is, error: was > 0 ? (is - was) / was : null };
  });
  return { p50: p50!, p90: p90! };
}
