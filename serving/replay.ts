// One replay run: over the top of the ranking, on a budget, as the only one (the lock of the group
// `replay`). Each example's outcome and what it changes are published in one transaction; a run
// that was stopped goes on under its id where it stood. What a call cost between answer and
// publication is lost with a crash, and the example is asked again.
import type { Arm } from "../arms/arm.ts";
import type { ArmConfig } from "../config/schema.ts";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { Judge } from "../operators/replay/judge.ts";
import { readAgenda, type AgendaItem, type CutOff } from "../operators/replay/agenda.ts";
import { createRanking, type Spent } from "../operators/replay/ranking.ts";
import { replayExample, type Replayed, type ReplayOutcome } from "../operators/replay/replay.ts";
import { replay } from "../pipelines/replay.ts";
import type { Sent } from "../runtime/declaration.ts";
import { createSingleton, type Lease } from "../runtime/singleton.ts";
import type { Topic } from "../schemas/records.ts";
import type { Replay } from "../schemas/types.ts";
import { exampleMessages } from "./example-messages.ts";
import { untilRecorded } from "./replay-recorded.ts";
import type { SessionOf } from "./session.ts";
import { groupName } from "./stage.ts";

export interface ReplayRun {
  /** Of this run; an old one goes on. */
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
  signal: AbortSignal;
  onReplayed?: (replayed: AgendaItem & { result: Replayed }) => void;
}

/** Makes an arm for this run, which closes it. */
export type OpenArm = (config: ArmConfig) => Promise<Arm>;

export interface ReplaySummary extends Spent {
  runId: string;
  outcomes: Partial<Record<ReplayOutcome, number>>;
  cutOff: CutOff;
  /**
   * Why it ended: the ranking or the wanted number is done, what is left is not worth it, the
   * budget is used up, or it was told to.
   */
  ended: "done" | "cut-off" | "budget" | "interrupted";
}

const callMs = 120_000;
/** A run asks for the lock so long; a run that was killed holds it until its session times out. */
const electionMs = 60_000;

/**
 * Rejects when another run holds the lock, when an arm can't be made, or when Kafka or ClickHouse
 * fail in the middle: it can go on later.
 */
export async function runReplay(
  session: SessionOf<typeof replay>,
  openArm: OpenArm,
  run: ReplayRun,
): Promise<ReplaySummary> {
  const group = groupName(session.config.kafka.prefix, replay.name);
  let began = false;
  return new Promise<ReplaySummary>((resolve, reject) => {
    const singleton = createSingleton({
      group,
      topic: session.topic("locks"),
      instance: run.runId,
      sessionTimeoutMs: session.config.kafka.sessionTimeoutMs,
      transactionalId: `${group}.writer`,
      outputs: [session.topic("replays"), session.topic("examples")],
      kafka: session.kafka,
      log: session.log,
      async task(lease) {
        if (began) return;
        began = true;
        await replayAll(session, openArm, run, lease).then(end(resolve), end(reject));
      },
    });
    const end =
      <T>(settle: (value: T) => void) =>
      (value: T): void => {
        clearTimeout(limit);
        // Not awaited here: stopping waits for the task, which is us.
        void singleton.stop().then(
          () => settle(value),
          () => settle(value),
        );
      };
    const limit = setTimeout(() => {
      if (!began) end(reject)(new Error("another replay run holds the lock: wait for its end, or stop it"));
    }, electionMs);
    run.signal.addEventListener("abort", () => {
      if (!began) end(reject)(run.signal.reason instanceof Error ? run.signal.reason : new Error("stopped"));
    });
    singleton.start().catch(end(reject));
  });
}

async function replayAll(
  session: SessionOf<typeof replay>,
  openArm: OpenArm,
  run: ReplayRun,
  lease: Lease<Sent<typeof replay>>,
): Promise<ReplaySummary> {
  const ranking = createRanking(session.clickhouse);
  const signal = AbortSignal.any([run.signal, lease.signal]);
  const arms = openArms(session, openArm);
  const outcomes: ReplaySummary["outcomes"] = {};
  let spent: Spent = { tried: 0, tokens: 0, cost: 0 };
  const affords = (more: { tokens: number; cost: number }): boolean =>
    spent.tokens + more.tokens < run.budget.tokens && spent.cost + more.cost < run.budget.cost;
  let cutOff: CutOff = { gain: 0, from: "prior", replays: 0, cost: 0 };
  const summary = (ended: ReplaySummary["ended"]): ReplaySummary => ({
    ...{ runId: run.runId, ...spent, outcomes, cutOff, ended },
  });
  try {
    // Whoever held the lock before can publish nothing more from here on.
    await lease.initialise();
    await untilRecorded(session, signal);
    spent = await ranking.spent(run.runId);
    const agenda = await readAgenda({
      clickhouse: session.clickhouse,
      runId: run.runId,
      most: Math.max(0, run.top - spent.tried),
      ...{ samples: run.samples, arm: run.arm, cutOff: run.cutOff },
      armCosts: new Map(session.arms.routed().map(({ name, cost }) => [name, cost])),
    });
    cutOff = agenda.cutOff;
    for (const item of agenda.items) {
      if (!affords({ tokens: 0, cost: 0 })) return summary("budget");
      const { example, gain, arm } = item;
      const result = await replayExample(
        example,
        {
          arm: await arms.named(arm),
          system: session.arms.configured().find(({ name }) => name === arm)?.system,
          judge: run.judge,
          samples: run.samples,
          temperature: session.config.curate.replay.temperature,
          personalData: session.config.curate.personalData,
          affords,
          callMs,
          clock: Date.now,
        },
        signal,
      );
      // Evicted or changed meanwhile: the attempt is recorded, the pool is left alone.
      const stands = await ranking.stands(example);
      const messages = await exampleMessages(session, stands ? result.changes : []);
      const relativeCost = agenda.costs.of(result, arm, run.judge.name);
      const record = replayMessage(session, {
        ...{ runId: run.runId, tenant: example.tenant, exampleId: example.id, attempt: example.replays + 1 },
        ...{ newExampleId: stands ? result.newId : null, gain, arm, relativeCost },
        ...{ oldQuality: result.oldQuality, newQuality: result.newQuality, outcome: result.outcome },
        ...{ tokens: result.tokens, cost: result.cost, samples: result.samples, createdAt: Date.now() },
      });
      await lease.publish([...messages, record]);
      spent.tried++;
      spent.tokens += result.tokens;
      spent.cost += result.cost;
      outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
      run.onReplayed?.({ ...item, result });
    }
    return summary(agenda.left > 0 ? "cut-off" : "done");
  } catch (error) {
    if (run.signal.aborted) return summary("interrupted");
    throw error;
  } finally {
    await arms.close();
  }
}

/** Made when first needed, closed together. */
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

const replayMessage = ({ codec, topic }: SessionOf<object>, record: Replay): OutgoingMessage<Topic<"replays">> => ({
  topic: topic("replays"),
  key: record.exampleId,
  value: codec.encode("replays", record),
});
