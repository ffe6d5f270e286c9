// What precedent plan-capacity says: fitted service times, the check beside the log's own queues,
// predictions, and what to be wary of.
import type { Objectives } from "../../algorithms/queueing/arm-queues/goodput.ts";
import { ratesOf, type Rates, type Spread } from "../../algorithms/queueing/arm-queues/service-times.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Serving, Target } from "../off-policy/target.ts";
import { sharesOf, type Shares } from "./assign.ts";
import { checkAgainst, knownArms, plannable, type Check, type KnownArm, type Places } from "./models.ts";
import { planCapacity, type Prediction } from "./plan.ts";
import { readCalls, type CallLog } from "./read.ts";
import { moved, requestsOf, type Arrival, type Request } from "./requests.ts";
import { Shortfall } from "./shortfall.ts";

export interface CapacityOptions extends Places {
  clickhouse: Pick<ClickHouse, "query">;
  /** Milliseconds since the epoch. */
  window: { since: number; until: number };
  /** Requests of the log at most. */
  most: number;
  /** undefined: each request at the arm that answered it. */
  target: Target | undefined;
  serving: Serving;
  /** In place of the log's requests. */
  trace: { name: string; arrivals: readonly Arrival[] } | undefined;
  /** Workers of arms to ask about; arms that are not named keep theirs. undefined: nothing. */
  asked: ReadonlyMap<string, number> | undefined;
  objectives: Objectives;
  wanted: number;
  traffic: number;
  pattern: "poisson" | "trace";
  seed: number;
  signal: AbortSignal;
}

export interface CapacityReport {
  window: { since: number; until: number; requests: number };
  leftOut: CallLog["leftOut"] & { unplannable: number };
  arms: (Omit<KnownArm, "model" | "requests"> & { calls: number; rates: Rates | null; spread: Spread | null })[];
  check: Check[];
  policy: string;
  /** Where requests come from, how many, and how many a second on average. */
  traffic: { source: string; requests: number; ratePerSecond: number; factor: number };
  objectives: Objectives & { attainment: number };
  current: Prediction;
  asked: Prediction | null;
  warnings: string[];
}

export async function capacityReport(options: CapacityOptions): Promise<CapacityReport> {
  const { clickhouse, window, most, signal, target, trace, asked, wanted, objectives, traffic, seed } = options;
  const log = await readCalls(clickhouse, window, { most, signal });
  const arms = knownArms(log, options);
  const check = checkAgainst(log, arms, splitmix64(seed));
  const shares =
    target === undefined
      ? undefined
      : await sharesOf(target, { ...{ clickhouse, window, signal }, serving: options.serving, maxDecisions: most });
  const { requests, undecided } = trafficOf(log, arms, shares, options);
  const planned = plannable(requests, arms);
  const kept = log.requests.filter(({ arm }) => arms[arm]!.model !== undefined);
  const planMs = Float64Array.from(kept, (request) => request.planMs);
  for (const arm of asked?.keys() ?? [])
    if (!arms.some((one) => one.arm === arm && one.model !== undefined))
      throw new Shortfall(
        `nothing is known of arm ${arm}: ${arms.map((one) => `${one.arm} has ${one.requests} calls in the log`).join(", ")}`,
      );
  const known = arms.filter(({ model }) => model !== undefined);
  const place = new Map(known.map((one, i) => [arms.indexOf(one), i]));
  const [current, other] = planCapacity(
    {
      requests: planned.map((request) => ({ ...request, arm: place.get(request.arm)! })),
      arms: known,
      ...{ planMs, objectives, wanted, traffic, pattern: options.pattern, seed },
    },
    asked === undefined ? [] : [asked],
  );
  const span = (planned.at(-1)?.arrival ?? 0) - (planned[0]?.arrival ?? 0);
  const report = {
    window: { ...window, requests: log.requests.length },
    leftOut: { ...log.leftOut, unplannable: requests.length - planned.length },
    arms: arms.map(({ model, requests: calls, ...rest }) => ({
      ...{
        ...rest,
        calls,
        rates: model === undefined ? null : ratesOf(model.times),
        spread: model?.times.spread ?? null,
      },
    })),
    check,
    policy: target?.name ?? "logged",
    traffic: {
      ...{ source: trace?.name ?? "log", requests: planned.length, factor: traffic },
      ratePerSecond: span > 0 ? (1_000 * traffic * (planned.length - 1)) / span : 0,
    },
    objectives: { ...objectives, attainment: wanted },
    ...{ current: current!, asked: other ?? null },
  };
  return { ...report, warnings: warningsOf(report, arms, { log, undecided }) };
}

/** Requests by arrival with their arms. Arms of the policy that never answered are added. */
function trafficOf(
  log: CallLog,
  arms: KnownArm[],
  shares: Shares | undefined,
  { trace, seed, target, placesOf }: CapacityOptions,
): { requests: Request[]; undecided: number } {
  const random = splitmix64(BigInt(seed) + 2n);
  const placeOf = (name: string): number => {
    const at = arms.findIndex(({ arm }) => arm === name);
    if (at >= 0) return at;
    return (
      arms.push({ arm: name, requests: 0, model: undefined, mostAtOnce: 0, workers: 1, places: placesOf(name) ?? 1 }) -
      1
    );
  };
  if (shares !== undefined && shares.decisions === 0)
    throw new Shortfall(
      `no decision of the window says what ${target?.name ?? "the policy"} would have chosen: widen --since, or leave --policy out`,
    );
  const to = shares?.arms.map(placeOf) ?? [];
  if (trace !== undefined) {
    const weights = arms.map(({ requests }) => (shares === undefined ? requests : 0));
    shares?.mean.forEach((mean, k) => (weights[to[k]!] = mean));
    return {
      requests: requestsOf(
        trace.arrivals,
        weights,
        arms.map(({ model }) => model),
        random,
      ),
      undecided: 0,
    };
  }
  if (shares === undefined) return { requests: log.requests, undecided: 0 };
  let undecided = 0;
  const models = arms.map(({ model }) => model);
  const requests = log.requests.map((request) => {
    const drawn = shares.draw(request.tenant, request.id, random);
    if (drawn === undefined) undecided++;
    return drawn === undefined ? request : moved(request, to[drawn]!, models);
  });
  return { requests, undecided };
}

/** Warned of: the simulation is off by a larger share of the logged time, and by so many ms. */
const mostError = 0.25;
const leastErrorMs = 10;
const fewRequests = 500;

function warningsOf(
  report: Omit<CapacityReport, "warnings">,
  arms: readonly KnownArm[],
  { log, undecided }: { log: CallLog; undecided: number },
): string[] {
  const out: string[] = [];
  for (const { arm, queue, total } of report.check)
    for (const [name, of] of [
      ["queue", queue],
      ["total", total],
    ] as const)
      for (const q of ["p50", "p90"] as const) {
        const { logged, simulated } = of[q];
        const off = Math.abs(simulated - logged);
        if (off > leastErrorMs && off > mostError * logged)
          out.push(
            `${name} ${q} of ${arm ?? "all arms"} comes to ${simulated.toFixed(0)} ms on paper and was ${logged.toFixed(0)} ms: read predictions with care, and say with --current how many workers there were`,
          );
      }
  for (const { arm, mostAtOnce: seen, workers, places } of arms)
    if (seen > workers * places)
      out.push(`the log shows ${seen} calls of ${arm} at once, and ${workers} workers of ${places} places are assumed`);
  if (log.requests.length < fewRequests)
    out.push(`the log has ${log.requests.length} calls: quantiles above p90 rest on few of them`);
  if (log.more) out.push(`only the newest ${log.requests.length} calls of the window were read: --requests`);
  if (undecided > 0) out.push(`${undecided} requests without a usable decision stay with the arm that answered them`);
  if (report.leftOut.unplannable > 0)
    out.push(`${report.leftOut.unplannable} requests of arms with too few calls are left out`);
  for (const [name, plan] of [
    ["current", report.current],
    ["asked", report.asked],
  ] as const)
    if (plan?.goodput === 0)
      out.push(
        `${name}: no rate meets the objectives: of requests that come one by one ${(100 * plan.goodputAttainment).toFixed(1)} % do`,
      );
  return out;
}
