// One example replay run, as the only one: over the agenda, on a budget, off-peak. Outcome and
// change of an example are published in one transaction; a crash repeats its call.
import type { Arm } from "../../arms/arm.ts";
import type { ArmConfig } from "../../config/schema.ts";
import type { Judge } from "../../operators/example-replay/judge.ts";
import { readAgenda, type AgendaItem, type CutOff } from "../../operators/example-replay/agenda.ts";
import { createRanking, type Spent } from "../../operators/example-replay/ranking.ts";
import type { ExampleReplayResult } from "../../operators/example-replay/example-replay.ts";
import { computing } from "../../arms/routed.ts";
import type { exampleReplay } from "./pipeline.ts";
import type { Sent } from "../../runtime/declaration.ts";
import type { Lease } from "../../runtime/singleton.ts";
import { createOffPeak } from "../../state/off-peak.ts";
import { watchBusiestArm } from "./load.ts";
import { untilRecorded } from "./recorded.ts";
import { createReplayOne } from "./replay-one.ts";
import { keepRunRecord, type RunEnd } from "./runs.ts";
import { createTotals, type Outcomes } from "./totals.ts";
import type { SessionOf } from "../../state/session.ts";

/** Milliseconds that a run waits for a low load. */
export const mostWaitMs = 3_600_000;

export interface ExampleReplayRun {
  runId: string;
  judge: Judge;
  /** Examples tried at most, those of the run's earlier parts included. */
  top: number;
  samples: number;
  /** Tokens, and money in the prices' currency, of the whole run; one call may go over. */
  budget: { tokens: number; cost: number };
  /** Asks this arm whatever the source of an example; absent: each its own. */
  arm?: string | undefined;
  /** The least gain that is worth a replay; absent: as past replays say. 0: all are. */
  cutOff?: number | undefined;
  anyLoad?: boolean | undefined;
  /** Time, all waits together, after which it ends; absent: mostWaitMs. */
  mostWaitMs?: number | undefined;
  /** The time of the schedule that began it, milliseconds since the epoch; absent: by hand. */
  dueAt?: number | undefined;
  signal: AbortSignal;
  onReplayed?: (replayed: AgendaItem & { result: ExampleReplayResult }) => void;
  /** When it begins to wait for a low load, and when it goes on. */
  onWait?: (wait: { waits: boolean; load: number; waitedMs: number }) => void;
}

export interface ExampleReplaySummary extends Spent {
  runId: string;
  outcomes: Outcomes;
  cutOff: CutOff;
  waitedMs: number;
  /** Why it ended: done, not worth more, budget used up, load too high, or told to. */
  ended: Exclude<RunEnd, "failed">;
}

/** Makes an arm for this run, which closes it. */
export type OpenArm = (config: ArmConfig) => Promise<Arm>;

/** Rejects when an arm can't be made, or Kafka or ClickHouse fail: it can go on later. */
export async function replayExamples(
  session: SessionOf<typeof exampleReplay>,
  openArm: OpenArm,
  run: ExampleReplayRun,
  lease: Lease<Sent<typeof exampleReplay>>,
): Promise<ExampleReplaySummary> {
  const { clickhouse, config, log } = session;
  const signal = AbortSignal.any([run.signal, lease.signal]);
  const ranking = createRanking(clickhouse);
  const arms = openArms(session, openArm);
  // From here on a previous holder of the lock can publish nothing more.
  await lease.initialise();
  const busiest = await watchBusiestArm(session, signal);
  const gate = createOffPeak({
    load: run.anyLoad === true ? () => 0 : busiest.load,
    ...{ limit: config.limits.offPeakLoad, mostMs: run.mostWaitMs ?? mostWaitMs, now: () => performance.now() },
    onWait(waits) {
      run.onWait?.({ waits, load: busiest.load(), waitedMs: gate.waitedMs() });
      const state = waits ? "waiting" : "running";
      record
        ?.set({ state })
        .catch((error: unknown) => log.warn({ err: error }, "the example replay run's state is not recorded"));
    },
  });
  let record: Awaited<ReturnType<typeof keepRunRecord>> | undefined;
  const totals = createTotals(run.budget);
  let cutOff: CutOff = { gain: 0, from: "prior", replays: 0, cost: 0 };
  const replayOne = createReplayOne({
    ...{ session, run, arm: arms.named, ranking, affords: totals.affords, gate, lease, signal },
  });

  const replayAgenda = async (): Promise<ExampleReplaySummary["ended"]> => {
    await untilRecorded(session, signal);
    totals.resume(await ranking.spent(run.runId));
    const agenda = await readAgenda({
      ...{ clickhouse, runId: run.runId, most: Math.max(0, run.top - totals.spent.tried) },
      ...{ samples: run.samples, arm: run.arm, cutOff: run.cutOff },
      armCosts: new Map(computing(session.arms.routed()).map(({ name, cost }) => [name, cost])),
    });
    cutOff = agenda.cutOff;
    await record?.set({ cutOff });
    for (const item of agenda.items) {
      if (!totals.affords({ tokens: 0, cost: 0 })) return "budget";
      if (!(await gate.pass(signal))) return "load";
      const result = await replayOne(item, agenda.costs);
      if (result.samples === 0) return "load";
      totals.add(result);
      run.onReplayed?.({ ...item, result });
    }
    return agenda.left > 0 ? "cut-off" : "done";
  };

  const summary = (ended: ExampleReplaySummary["ended"]): ExampleReplaySummary => ({
    ...{ runId: run.runId, ...totals.spent, outcomes: totals.outcomes, cutOff },
    ...{ waitedMs: Math.round(gate.waitedMs()), ended },
  });
  try {
    record = await keepRunRecord(
      clickhouse,
      { ...run, judge: run.judge.name },
      { load: busiest.load, waitedMs: gate.waitedMs, log },
    );
    const ended = await replayAgenda();
    await record.set({ state: ended });
    return summary(ended);
  } catch (error) {
    const reported = run.signal.aborted || lease.signal.aborted;
    const problem = reported || !(error instanceof Error) ? "" : error.message;
    await record?.set({ state: reported ? "interrupted" : "failed", problem }).catch(() => undefined);
    if (run.signal.aborted) return summary("interrupted");
    throw error;
  } finally {
    record?.stop();
    await Promise.all([arms.close(), busiest.stop()]);
  }
}

function openArms(
  session: SessionOf<object>,
  open: OpenArm,
): { named(name: string): Promise<Arm>; close(): Promise<void> } {
  const made = new Map<string, Promise<Arm>>();
  return {
    named(name) {
      let arm = made.get(name);
      if (arm === undefined) {
        const config = session.arms.configured().find((configured) => configured.name === name);
        if (config === undefined) return Promise.reject(new Error(`there is no arm "${name}" in the configuration`));
        made.set(name, (arm = open(config)));
      }
      return arm;
    },
    async close() {
      await Promise.allSettled([...made.values()].map(async (arm) => (await arm).close()));
    },
  };
}
