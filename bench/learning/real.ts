// The real loop under measurement: all that learning needs in this process (plan, generate, record,
// learn) on the embedded stack, recorded arms, requests at a steady rate, and the reward of every
// answer given as feedback at once. The delay is the system's own.
import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSession } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { configSchema } from "../../config/schema.ts";
import { openClient } from "../../tools/demo/client.ts";
import { createLog } from "../../runtime/log.ts";
import type { Decision, Example } from "../../schemas/types.ts";
import { produceExamples } from "../support/examples.ts";

export interface RealOptions {
  stackFolder: string;
  /** For the log of the recorded arms. */
  folder: string;
  /** Answers of every arm to every question. */
  answers: readonly { request: string; arm: string; response: string }[];
  arms: readonly { name: string; cost: number; examples: boolean }[];
  pool: readonly Example[];
  costWeight: number;
  /** fixed: as bench/learning/memory.ts, to which it is compared. */
  variances: "estimated" | "fixed";
  /** Questions in the order in which they are asked. */
  questions: readonly string[];
  /** Requests a second. */
  rate: number;
  /** [0, 1], of the answer of the decision's arm to the i-th question. */
  rewardOf: (i: number, decision: Decision) => number;
  onProgress: (done: number) => void;
  signal: AbortSignal;
}

export interface RealRun {
  /** In the order of the questions. */
  decisions: Decision[];
  rewards: number[];
  /** Versions that decided. */
  versions: number;
  /** Seconds from the first request to the last reward. */
  seconds: number;
}

export async function runReal(options: RealOptions): Promise<RealRun> {
  const { signal, questions, arms } = options;
  const name = `bench_${randomBytes(4).toString("hex")}`;
  const file = join(options.folder, "answers.jsonl");
  await writeFile(file, options.answers.map((line) => JSON.stringify(line)).join("\n"));
  const config = configSchema.parse({
    stack: { folder: options.stackFolder },
    kafka: { prefix: `${name}.`, partitions: 4 },
    clickhouse: { database: name },
    // What was learnt decides, not how busy an arm is.
    routing: { costWeight: options.costWeight, variances: options.variances, saturation: { weight: 0 } },
    // Questions come again, to be answered by an arm.
    cache: { enabled: false },
    learn: { everyMs: 250 },
    record: { batchMs: 100 },
    arms: arms.map((arm) => ({ ...arm, type: "recorded", dispatch: "queued", file, concurrency: 64 })),
  });
  const session = await openSession(config, { log: createLog({ level: "error" }) });
  try {
    await produceExamples(session, options.pool);
    const stages = await startStages(session, { stages: ["plan", "generate", "record", "learn"] });
    const client = await openClient(session, signal);
    try {
      const began = performance.now();
      // One for every request that waits for its time.
      setMaxListeners(0, signal);
      const results = await Promise.all(
        questions.map(async (question, i) => {
          await sleep((i * 1_000) / options.rate, undefined, { signal });
          const { response, decision } = await client.ask(question);
          if (decision === null)
            throw new Error(`no decision for "${question}" (${response.status} ${response.error?.code ?? ""})`);
          const reward = options.rewardOf(i, decision);
          await client.reward(response.requestId, reward, "");
          options.onProgress(i + 1);
          return { decision, reward };
        }),
      );
      return {
        decisions: results.map(({ decision }) => decision),
        rewards: results.map(({ reward }) => reward),
        versions: new Set(results.map(({ decision }) => decision.policyVersion)).size,
        seconds: (performance.now() - began) / 1_000,
      };
    } finally {
      await client.close();
      await stages.stop();
    }
  } finally {
    await session.clickhouse.command(`DROP DATABASE IF EXISTS ${name}`).catch(() => undefined);
    await session.close();
  }
}
