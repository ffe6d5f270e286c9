// A batch of ten thousand lines whose gateway, and then whose plan and record, are killed with -9
// in the middle: every line is answered once, and the results have each line once.
// PRECEDENT_BATCH_LINES=1000 makes it shorter.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { createLog } from "../../runtime/log.ts";
import { freePort } from "../../stack/ports.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { testStack } from "../support/stack.ts";
import { eventually, testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const lines = Number(process.env.PRECEDENT_BATCH_LINES ?? 10_000);
/** Different questions, each asked many times. */
const questions = 100;
const stages = ["plan", "record"] as const;
let folder: string;
let session: Session;
let workers: Workers;
let client: OpenAI;

noBrokerDefects(() => testStack().folder);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-batch-kill-"));
  const file = join(folder, "log.jsonl");
  const log = Array.from({ length: questions }, (_, i) => ({ request: `question ${i}`, response: `answer ${i}` }));
  await writeFile(file, log.map((one) => JSON.stringify(one)).join("\n"));
  const port = await freePort(undefined, []);
  const arms = [{ name: "log", type: "recorded", dispatch: "inline", file, cost: 1 }];
  const config = testConfig({ arms, gateway: { port }, limits: { drainMs: 5_000 } }, folder);
  session = await openSession(config, { log: createLog({ level: config.log.level }), clientId: "test" });
  workers = createWorkers(config, folder);
  await Promise.all([workers.start(stages, "stages"), workers.start("gateway", "gateway")]);
  client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none", maxRetries: 5 });
}, 240_000);
afterAll(async () => {
  await workers.stop();
  await session.close();
  await rm(folder, { recursive: true, force: true });
});

/** State of the batch, once the gateway answers. */
const progress = async (id: string, until: (batch: OpenAI.Batch) => boolean): Promise<OpenAI.Batch> =>
  eventually(
    "the batch",
    async () => {
      const batch = await client.batches.retrieve(id);
      return until(batch) ? batch : undefined;
    },
    240_000,
  );
const hasDone = (share: number) => (batch: OpenAI.Batch) =>
  (batch.request_counts?.completed ?? 0) >= share * lines || batch.status === "completed";

test(
  "kill -9 in the middle of a batch: no line is lost, and none is answered twice",
  { timeout: 400_000 },
  async () => {
    const text = Array.from({ length: lines }, (_, i) =>
      JSON.stringify({
        ...{ custom_id: `line-${i}`, method: "POST", url: "/v1/chat/completions" },
        body: { model: "log", messages: [{ role: "user", content: `question ${i % questions}` }] },
      }),
    ).join("\n");
    const file = await client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "lines.jsonl") });
    const began = Date.now();
    const { id } = await client.batches.create({
      ...{ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
    });

    const first = await progress(id, hasDone(0.2));
    await workers.kill("gateway");
    await workers.start("gateway", "gateway");
    const second = await progress(id, hasDone(0.5));
    await workers.kill("stages");
    await workers.start(stages, "stages");
    const batch = await progress(id, ({ status }) => status === "completed");
    expect([first.status, second.status]).toEqual(["in_progress", "in_progress"]);
    expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
    expect(batch.error_file_id).toBeNull();

    const output = (await (await client.files.content(batch.output_file_id ?? "")).text()).trimEnd().split("\n");
    const answers = output.map((line) => {
      const { custom_id, response } = JSON.parse(line) as {
        custom_id: string;
        response: { body: OpenAI.ChatCompletion };
      };
      return `${custom_id} ${response.body.choices[0]?.message.content}`;
    });
    expect(answers).toEqual(Array.from({ length: lines }, (_, i) => `line-${i} answer ${i % questions}`));

    // On the topic, too, where a second answer would not be merged away.
    const firsts = new Map<string, string>();
    let repeats = 0;
    const reader = session.kafka.readTopic(session.topic("responses"), async (records, partition) => {
      for (const { value, offset } of records) {
        const decoded = value === null ? null : await session.codec.decode("responses", value);
        if (decoded?.ok !== true) throw new Error(`responses, ${partition}, ${offset}: it can't be read`);
        if (decoded.value.duplicate) repeats++;
        // A reader that had to join again reads records twice.
        else firsts.set(`${partition}/${offset}`, decoded.value.requestId);
      }
    });
    await reader.caughtUp.finally(() => reader.stop());
    console.log(JSON.stringify({ lines, repeats, seconds: (Date.now() - began) / 1_000 }));
    expect(new Set(firsts.values()).size).toBe(lines);
    expect(firsts.size).toBe(lines);
  },
);
