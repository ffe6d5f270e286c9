// One soak: the rig, one fault after the other with its recovery, the checks at the end, and a
// report of it all.
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { checkAggregates } from "../../test/faults/support/aggregates.ts";
import { checkAnswers } from "../../test/faults/support/answers.ts";
import { check, defects } from "../../test/faults/support/checks.ts";
import { startEndpoint } from "../../test/faults/support/endpoint.ts";
import { recover, type Recovery } from "../../test/faults/support/recovery.ts";
import { createRig, type Slot } from "../../test/faults/support/rig.ts";
import { machine, type Machine } from "../support/machine.ts";
import { quantile } from "../support/statistics.ts";
import { catalogue, type Group } from "./catalogue.ts";
import { compareNeighbours, memoryOf, type Span } from "./neighbours.ts";
import { rounds } from "./plan.ts";
import { watchResources, type Resources } from "./resources.ts";

export interface SoakOptions {
  /** Minutes under load. */
  minutes: number;
  /** Faults at most. */
  most: number;
  groups: readonly Group[];
  seed: bigint;
  perSecond: number;
  keep: boolean;
  /** Compares the others' latency and memory with those of quiet minutes before. */
  compare: boolean;
  signal: AbortSignal;
  tell(line: string): void;
}

export interface SoakReport extends Record<string, unknown> {
  machine: Machine;
  seed: string;
  load_minutes: number;
  faults: number;
  stalls: number;
  lost: number;
  doubled: number;
  violations: string[];
}

/** Two of each stage that shares partitions, so that one can take over. */
const slots: readonly Slot[] = [
  { stage: "plan", instance: "plan-a" },
  { stage: "plan", instance: "plan-b", network: true },
  { stage: "generate", instance: "generate-a" },
  { stage: "generate", instance: "generate-b", network: true },
  { stage: "record", instance: "record-a" },
  { stage: "learn", instance: "learn-a" },
  { stage: "curate", instance: "curate-a" },
  { stage: "gateway", instance: "gateway-a" },
];
/** Under load and without faults, before and after, where neighbours are compared. */
const quietMs = 120_000;
const endpointArm = "endpoint";
/** Every so many-th request is for the endpoint. */
const endpointEvery = 8;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { minutes, most, groups, seed, perSecond, keep, compare, signal, tell } = options;
  const random = splitmix64(seed);
  const endpoint = await startEndpoint();
  const poisoned = { keys: [] as string[] };
  const gatewayPort = await getPort({ host: "127.0.0.1" });
  tell(`seed ${seed}: starting a stack and ${slots.length} stage processes`);
  const rig = await createRig({
    ...{ slots, perSecond, keep, feedbackEvery: 5 },
    config: { record: { batchMs: 500 }, learn: { everyMs: 1_000 }, gateway: { port: gatewayPort } },
    moreArms: [
      {
        ...{ name: endpointArm, type: "openai", baseUrl: endpoint.baseUrl, model: "m", cost: 0.5 },
        ...{ timeoutMs: 3_000, retries: 1 },
      },
    ],
    more: (i) =>
      i % endpointEvery === 0
        ? { allow: { arms: [endpointArm], maxCost: null, deadlineMs: null, costWeight: null } }
        : {},
  }).catch(async (error: unknown) => {
    await endpoint.stop();
    throw error;
  });
  try {
    if (keep) tell(`everything lies in ${rig.folder}`);
    const cuttable = slots.flatMap(({ instance, network }) => (network === true ? [instance] : []));
    const all = catalogue({ random, endpoint, poisoned, cuttable, gatewayPort });
    const plan = rounds(
      groups.flatMap((group) => all[group]),
      random,
    );
    const resources = watchResources(rig);
    const began = performance.now();
    const spent = (): number => performance.now() - began;
    const recoveries: Recovery[] = [];
    const violations: string[] = [];
    const hostile: Span[] = [];
    /** What the others take without attacks; latency counts from the middle on. */
    const rest = async () => {
      const from = Date.now() + quietMs / 2;
      if (compare) await sleep(quietMs, undefined, { signal });
      return { span: { from, to: Date.now() }, memory: memoryOf(rig) };
    };
    const before = await rest();
    while (recoveries.length < most && spent() < minutes * 60_000) {
      signal.throwIfAborted();
      await sleep(1_000 + random() * 3_000, undefined, { signal });
      const fault = plan.next().value;
      const from = Date.now();
      const recovery = await recover(rig, fault).catch((error: unknown) => String(error));
      if (typeof recovery === "string") {
        violations.push(`"${fault.name}" could not be done: ${recovery}`);
        tell(`${clock(spent())}  ${fault.name}: ${recovery}`);
        break;
      }
      recoveries.push(recovery);
      if (all.hostile.includes(fault)) hostile.push({ from, to: Date.now() });
      tell(`${clock(spent())}  ${describe(recovery)}  (${rig.oracle.answered()} answers)`);
      // Each time: what is in the log of a broker goes when the stack starts anew.
      const dropped = await defects(rig);
      violations.push(...dropped.filter((line) => !violations.includes(line)));
      // It stands still for good: nothing that comes after would say anything.
      if (recovery.recovery_s === null) break;
    }
    const after = await rest();
    await rig.load.stop();
    const load = spent();
    tell(`${clock(spent())}  the load has ended: checking`);
    const used = await resources.stop();
    const outcome = await check(rig);
    const answers = await checkAnswers(rig, { endpointArm, poisoned });
    const aggregates = await checkAggregates(rig);
    const neighbours = compare
      ? await compareNeighbours(
          rig,
          { quiet: [before.span], hostile },
          { before: before.memory, after: after.memory },
          endpointArm,
        )
      : undefined;
    violations.push(...outcome.violations, ...answers.violations, ...aggregates.violations, ...used.violations);
    violations.push(...(neighbours?.violations ?? []));
    return {
      ...{ seed: String(seed), groups, load_minutes: Math.round(load / 6_000) / 10, requests_per_s: perSecond },
      ...{ faults: recoveries.length, stalls: recoveries.filter(({ stalled }) => stalled).length },
      ...{
        lost: outcome.lost,
        doubled: outcome.doubled,
        refused: outcome.refused,
        requests: outcome.issued,
        feedback: rig.load.feedback(),
      },
      ...{ recovery_p50_s: at(recoveries, 0.5), recovery_max_s: at(recoveries, 1) },
      violations: [...new Set(violations)],
      ...{ answers: answers.counts, aggregates: aggregates.rows, looks_at_offsets: outcome.looks },
      ...(neighbours === undefined ? {} : { neighbours }),
      by_fault: byFault(recoveries),
      ...{ processes: used.processes, parts: used.parts satisfies Resources["parts"] },
      machine: machine(),
      timeline: recoveries,
    };
  } finally {
    await rig.stop();
    await endpoint.stop();
  }
}

const at = (recoveries: readonly Recovery[], q: number): number | null => {
  const value =
    recoveries.length === 0
      ? NaN
      : quantile(
          recoveries.map(({ recovery_s }) => recovery_s ?? Infinity),
          q,
        );
  return Number.isFinite(value) ? value : null;
};

function byFault(recoveries: readonly Recovery[]): object[] {
  const names = [...new Set(recoveries.map(({ fault }) => fault))].sort();
  return names.map((fault) => {
    const its = recoveries.filter((recovery) => recovery.fault === fault);
    const stalls = its.filter(({ stalled }) => stalled).length;
    return { fault, times: its.length, stalls, recovery_p50_s: at(its, 0.5), recovery_max_s: at(its, 1) };
  });
}

const clock = (ms: number): string =>
  `${String(Math.floor(ms / 60_000)).padStart(3)}:${String(Math.floor((ms / 1_000) % 60)).padStart(2, "0")}`;

function describe({ fault, detail, lasted_s, recovery_s, stalled, missing }: Recovery): string {
  const what = `${fault}${detail === undefined ? "" : ` (${detail})`}, ${lasted_s} s`;
  const then = recovery_s === null ? "STANDS STILL FOR GOOD" : `goes on after ${recovery_s} s`;
  return `${what}: ${then}${stalled ? `  STALLED: ${missing ?? ""}` : ""}`;
}
