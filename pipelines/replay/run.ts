// One example replay run, as the only one: over the agenda, on a budget, off-peak. Outcome and
// change of an example are published in one transaction; a crash repeats its call.
import type { Arm } from "../../arms/arm.ts";
import type { ArmConfig } from "../../config/schema.ts";
import type { Judge } from "../../operators/example-replay/judge.ts";
import { readAgenda, type Agenda, type AgendaItem, type CutOff } from "../../operators/example-replay/agenda.ts";
import { createRanking, type Spent } from "../../operators/example-replay/ranking.ts";
import {
  replayExample,
  type ExampleReplayResult,
  type ExampleReplayOutcome,
} from "../../operators/example-replay/example-replay.ts";
import { computing } from "../../arms/routed.ts";
import { exampleReplay } from "./pipeline.ts";
import type { Sent } from "../../runtime/declaration.ts";
import type { Lease } from "../../runtime/singleton.ts";
import type { ExampleReplay } from "../../schemas/types.ts";
import { exampleMessages } from "../curate/example-messages.ts";
import { createOffPeak } from "../../state/off-peak.ts";
import { watchBusiestArm } from "./load.ts";
import { untilRecorded } from "./recorded.ts";
import { keepRunRecord, type RunEnd } from "./runs.ts";
import type { SessionOf } from "../../state/session.ts";

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
  /** The time of the schedule that began it, milliseconds since the epoch; absent: by hand. */
  dueAt?: number | undefined;
  signal: AbortSignal;
  onReplayed?: (replayed: AgendaItem & { result: ExampleReplayResult }) => void;
  /** When it begins to wait for a low load, and when it goes on. */
  onWait?: (wait: { waits: boolean; load: number; waitedMs: number }) => void;
}

export interface ExampleReplaySummary extends Spent {
  runId: string;
  outcomes: Partial<Record<ExampleReplayOutcome, number>>;
  cutOff: CutOff;
  waitedMs: number;
  /** Why it ended: done, not worth more, budget used up, load too high, or told to. */
  ended: Exclude<RunEnd, "failed">;
}

/** Makes an arm for this run, which closes it. */
export type OpenArm = (config: ArmConfig) => Promise<Arm>;

const callMs = 120_000;

/** Rejects when an arm can't be made, or Kafka or ClickHouse fail: it can go on later. */
export async function replayExamples(
  session: SessionOf<typeof exampleReplay>,
  openArm: OpenArm,
  run: ExampleReplayRun,
  lease: Lease<Sent<typeof exampleReplay>>,
): Promise<ExampleReplaySummary> {
  const { clickhouse, config, log } = session;
  const { offPeak } = config.curate.exampleReplay;
  const signal = AbortSignal.any([run.signal, lease.signal]);
  const ranking = createRanking(clickhouse);
  const arms = openArms(session, openArm);
  // From here on a previous holder of the lock can publish nothing more.
  await lease.initialise();
  const busiest = await watchBusiestArm(session, signal);
  const gate = createOffPeak({
    load: run.anyLoad === true ? () => 0 : busiest.load,
    ...{ limit: offPeak.load, mostMs: offPeak.waitMs, now: () => performance.now() },
    onWait(waits) {
      run.onWait?.({ waits, load: busiest.load(), waitedMs: gate.waitedMs() });
      const state = waits ? "waiting" : "running";
      record
        ?.set({ state })
        .catch((error: unknown) => log.warn({ err: error }, "the example replay run's state is not recorded"));
    },
  });
  let record: Awaited<ReturnType<typeof keepRunRecord>> | undefined;
  const total = { tried: 0, tokens: 0, cost: 0 };
  const outcomes: ExampleReplaySummary["outcomes"] = {};
  let cutOff: CutOff = { gain: 0, from: "prior", replays: 0, cost: 0 };
  const affords = (more: { tokens: number; cost: number }): boolean =>
    total.tokens + more.tokens < run.budget.tokens && total.cost + more.cost < run.budget.cost;

  const replayOne = async (item: AgendaItem, costs: Agenda["costs"]): Promise<"done" | "load"> => {
    const { example, gain, arm } = item;
    const system = session.arms.configured().find(({ name }) => name === arm)?.system;
    const pass = exampleReplay.bind({
      again: async () =>
        replayExample(
          example,
          {
            ...{ arm: await arms.named(arm), system, judge: run.judge, samples: run.samples, temperature: 0.8 },
            ...{ personalData: config.curate.personalData, affords, mayAsk: gate.pass, callMs, clock: Date.now },
          },
          signal,
        ),
      async publish(result) {
        // Evicted or changed meanwhile: the attempt is recorded, the pool is left alone.
        const stands = await ranking.stands(example);
        const messages = await exampleMessages(session, stands ? result.changes : []);
        const row: ExampleReplay = {
          ...{ runId: run.runId, tenant: example.tenant, exampleId: example.id, attempt: example.replays + 1 },
          ...{ newExampleId: stands ? result.newId : null, gain, arm },
          ...{ oldQuality: result.oldQuality, newQuality: result.newQuality, outcome: result.outcome },
          ...{ tokens: result.tokens, cost: result.cost, samples: result.samples, createdAt: Date.now() },
          relativeCost: costs.of(result, arm, run.judge.name),
        };
        const value = session.codec.encode("example-replays", row);
        await lease.publish([...messages, { topic: session.topic("example-replays"), key: example.id, value }]);
      },
      observe: () => undefined,
    });
    const { replayed: result } = await pass();
    if (result.samples === 0) return "load";
    total.tried++;
    total.tokens += result.tokens;
    total.cost += result.cost;
    outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
    run.onReplayed?.({ ...item, result });
    return "done";
  };

  const replayAgenda = async (): Promise<ExampleReplaySummary["ended"]> => {
    await untilRecorded(session, signal);
    Object.assign(total, await ranking.spent(run.runId));
    const agenda = await readAgenda({
      ...{ clickhouse, runId: run.runId, most: Math.max(0, run.top - total.tried) },
      ...{ samples: run.samples, arm: run.arm, cutOff: run.cutOff },
      armCosts: new Map(computing(session.arms.routed()).map(({ name, cost }) => [name, cost])),
    });
    cutOff = agenda.cutOff;
    await record?.set({ cutOff });
    for (const item of agenda.items) {
      if (!affords({ tokens: 0, cost: 0 })) return "budget";
      if (!(await gate.pass(signal)) || (await replayOne(item, agenda.costs)) === "load") return "load";
    }
    return agenda.left > 0 ? "cut-off" : "done";
  };

  const summary = (ended: ExampleReplaySummary["ended"]): ExampleReplaySummary => ({
    ...{ runId: run.runId, ...total, outcomes, cutOff, waitedMs: Math.round(gate.waitedMs()), ended },
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
