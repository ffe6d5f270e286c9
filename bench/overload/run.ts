// One policy under the arrivals: plan and generate on the embedded stack with what was learnt
// before, every request sent at its time, whatever became of those before it.
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { openSession } from "../../pipelines/session.ts";
import { startStages, type StageName } from "../../pipelines/up.ts";
import { configSchema } from "../../config/schema.ts";
import { NoResponse, openClient, type Client } from "../../tools/demo/client.ts";
import { createLog } from "../../runtime/log.ts";
import type { ArmName, Question } from "./data.ts";

/** What all runs share: topics, tables, and so the policy that was learnt. */
export interface Place {
  name: string;
  stackFolder: string;
  /** File of the recorded answers. */
  file: string;
  signal: AbortSignal;
}

export interface Setting {
  stages: readonly StageName[];
  /** Answers that an arm gives at a time. */
  concurrency: Readonly<Record<ArmName, number>>;
  /** Whether the router looks at the load of its arms. */
  loadAware: boolean;
}

/** Cost of an answer in [0, 1]. */
const cost: Readonly<Record<ArmName, number>> = { small: 0.1, large: 1 };

const configOf = ({ name, stackFolder, file }: Place, setting: Setting) =>
  configSchema.parse({
    stack: { folder: stackFolder },
    kafka: { prefix: `${name}.`, partitions: 4 },
    clickhouse: { database: name },
    // Quality alone: what the policies differ in is what they make of the load.
    routing: { costWeight: 0, ...(setting.loadAware ? {} : { load: { weight: 0 }, saturation: { weight: 0 } }) },
    cache: { enabled: false },
    learn: { everyMs: 250 },
    record: { batchMs: 100 },
    arms: (["small", "large"] as const).map((arm) => ({
      ...{ name: arm, type: "recorded", dispatch: "queued", file, examples: false },
      ...{ cost: cost[arm], concurrency: setting.concurrency[arm] },
    })),
  });

/** The tables go at the end; what was learnt stays in the topic of policies. */
export async function withClient<T>(place: Place, setting: Setting, work: (client: Client) => Promise<T>): Promise<T> {
  const session = await openSession(configOf(place, setting), { log: createLog({ level: "error" }) });
  try {
    const stages = await startStages(session, { stages: [...setting.stages] });
    const client = await openClient(session, place.signal);
    try {
      return await work(client);
    } finally {
      await client.close();
      await stages.stop();
    }
  } finally {
    await session.clickhouse.command(`DROP DATABASE IF EXISTS ${place.name}`).catch(() => undefined);
    await session.close();
  }
}

/** What became of a request. */
export interface Outcome {
  phase: string;
  /** From the time it should be sent to its response; undefined: it was never answered. */
  latencyMs: number | undefined;
  /** That answered; null where none did. */
  arm: ArmName | null;
  /** Quality of the answer, [0, 1]; 0 where there is none. */
  quality: number;
}

export interface Asked {
  question: Question;
  phase: string;
  atMs: number;
  /** Only this arm may answer. */
  arm?: ArmName | undefined;
}

export interface Asking {
  /** Every answer is rewarded with its quality, as soon as it is there. */
  reward: boolean;
  signal: AbortSignal;
}

/** Asks each at its time and resolves when all have their outcome, in their order. */
export function askAll(client: Client, all: readonly Asked[], { reward, signal }: Asking): Promise<Outcome[]> {
  setMaxListeners(0, signal); // one for every request that waits for its time
  const began = performance.now();
  return Promise.all(
    all.map(async ({ question, phase, atMs, arm }): Promise<Outcome> => {
      await sleep(Math.max(0, began + atMs - performance.now()), undefined, { signal });
      const answered = await client.ask(question.request, arm === undefined ? {} : { arm }).catch((error: unknown) => {
        if (error instanceof NoResponse) return undefined;
        throw error;
      });
      const latencyMs = performance.now() - began - atMs;
      if (answered === undefined) return { phase, latencyMs: undefined, arm: null, quality: 0 };
      const { requestId, status, arm: by } = answered.response;
      if (status !== "ok") return { phase, latencyMs, arm: null, quality: 0 };
      const { quality } = question.answers[by as ArmName];
      if (reward) await client.reward(requestId, quality, "");
      return { phase, latencyMs, arm: by as ArmName, quality };
    }),
  );
}
