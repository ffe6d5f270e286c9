// bench -- replay: how fast a log is replayed beside the live loop that made it, in the same
// process on the same broker, and whether two replays decide alike. The live loop has 64 requests
// in flight, its questions are all different, and both sides embed every one of them. Then what
// example replays regain, by the order in which they are taken (example-replay.ts).
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beginLogReplay, goOn, removeLogReplay } from "../../analysis/log-replay/run.ts";
import type { LogReplayOptions } from "../../analysis/log-replay/lane.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { configSchema, type Config } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import { readWindow } from "../../analysis/log-replay/window.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { createDriver } from "../loop/driver.ts";
import { onStack } from "../support/stack.ts";
import { measureExampleReplay } from "./example-replay.ts";

const inFlight = 64;

export const replay: Benchmark = {
  name: "replay",
  about: "log replay at max speed beside the live loop; what example replays regain, by their order",
  async run(context) {
    const stack = join(context.folder, "..", "stack");
    const ofLogs = await onStack(context, stack, ({ folder }) => measure(context, folder));
    const { figures, reasons = {} } = await measureExampleReplay(context);
    return { figures: { ...ofLogs.figures, ...figures }, reasons };
  },
};

async function measure(context: BenchContext, stackFolder: string): Promise<Measured> {
  const requests = context.quick ? 300 : 3_000;
  const questions = Array.from({ length: requests }, (_, i) => `How do I list the files of folder number ${i}?`);
  const file = join(context.folder, "answers.jsonl");
  const lines = questions.map((request, i) => JSON.stringify({ request, response: `ls folder-${i}` }));
  await writeFile(file, lines.join("\n"));
  const name = `replay_${randomBytes(4).toString("hex")}`;
  const config = configSchema.parse({
    stack: { folder: stackFolder },
    kafka: { prefix: `${name}.` },
    clickhouse: { database: name },
    arms: ["small", "large"].map((arm, i) => ({
      ...{ name: arm, type: "recorded", dispatch: "queued", file, cost: i === 0 ? 0.1 : 1 },
    })),
  });
  const log = createLog({ level: "error" });
  const session = await openSession(config, { log, clientId: "driver" });
  try {
    const from = Date.now();
    const liveSeconds = await live(session, questions, context.signal);
    const to = Date.now() + 1_000;
    const options = { config, log, signal: context.signal, onRead: () => undefined, onReplayed: () => undefined };
    const first = await once(config, { from, to }, options);
    const second = await once(config, { from, to }, options);
    const livePerS = requests / liveSeconds;
    const rates = [first.requestsPerS, second.requestsPerS];
    return {
      figures: {
        requests,
        log_replay_per_s: Math.round(Math.max(...rates) * 10) / 10,
        log_replay_per_s_range: rates.map((rate) => Math.round(rate * 10) / 10),
        live_per_s: Math.round(livePerS * 10) / 10,
        log_replay_ratio: Math.round((Math.max(...rates) / livePerS) * 100) / 100,
        same_decisions: first.fingerprint === second.fingerprint,
        not_recorded_share: first.notRecorded / requests,
      },
    };
  } finally {
    await session.clickhouse.command(`DROP DATABASE IF EXISTS ${name}`);
    await session.close();
  }
}

/** Seconds from the first request to the last response; all of it is recorded. */
async function live(session: Session, questions: readonly string[], signal: AbortSignal): Promise<number> {
  const { kafka, codec, topic, clickhouse } = session;
  const stages = await startStages(session, { stages: ["plan", "generate", "record"] });
  let at = 0;
  const driver = await createDriver({
    ...{ kafka, requests: topic("requests"), responses: topic("responses"), signal },
    next() {
      const request = plainRequest(questions[at]!, { id: `live-${at}`, createdAt: Date.now() });
      at++;
      return { key: request.id, value: codec.encode("requests", request) };
    },
  });
  try {
    const { seconds } = await driver.run({ inFlight, seconds: 600, requests: questions.length });
    for (;;) {
      signal.throwIfAborted();
      const [row] = await clickhouse.query<{ least: number }>(
        `SELECT least((SELECT count() FROM requests FINAL), (SELECT count() FROM decisions FINAL), (SELECT count() FROM responses FINAL)) AS least`,
      );
      if (row !== undefined && row.least >= questions.length) return seconds;
      await sleep(200);
    }
  } finally {
    await driver.close();
    await stages.stop();
  }
}

async function once(config: Config, window: { from: number; to: number }, options: LogReplayOptions) {
  const id = randomBytes(4).toString("hex");
  const plan = { source: "live", beginning: window.from, policies: [], speed: null, seed: 1n, liveArms: [] };
  await beginLogReplay(id, plan, options);
  const report = await goOn(id, (clickhouse) => readWindow(clickhouse, window), options);
  await removeLogReplay(id, { config, log: options.log });
  return report.policies[0]!;
}
