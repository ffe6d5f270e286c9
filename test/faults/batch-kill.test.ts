// A batch of ten thousand lines whose gateway, and then whose plan and record, are killed with -9
// in the middle: every line is answered once, and the results have each line once. With an arm
// of provider batches no line is submitted twice, either.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { createLog } from "../../runtime/log.ts";
import { freePort } from "../../stack/ports.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { startBatchProvider, type BatchProvider } from "../support/batch-provider.ts";
import { testStack } from "../support/stack.ts";
import { eventually, testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const lines = 10_000;
/** Different questions, each asked many times. */
const questions = 100;
const stages = ["plan", "generate", "record"] as const;
let folder: string;
let provider: BatchProvider;
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
  provider = await startBatchProvider();
  const prices = { prompt: 1, completion: 1 };
  const night = { baseUrl: provider.baseUrl, apiKey: "key", model: "m", batch: "provider", prices };
  const arms = [
    { name: "log", type: "recorded", dispatch: "inline", file, cost: 1 },
    { ...night, type: "openai", name: "night", batchCollectMs: 1_000 },
    { ...night, type: "anthropic", name: "dawn", batchCollectMs: 1_000 },
  ];
  const config = testConfig({ arms, gateway: { port }, limits: { drainMs: 5_000 } }, folder);
  session = await openSession(config, { log: createLog({ level: config.log.level }), clientId: "test" });
  workers = createWorkers(config, folder);
  await Promise.all([workers.start(stages, "stages"), workers.start("gateway", "gateway")]);
  client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none", maxRetries: 5 });
}, 240_000);
afterAll(async () => {
  await workers.stop();
  await session.close();
  await provider.stop();
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
    const began = Date.now();
    const asked = Array.from({ length: lines }, (_, i) => lineOf("log", `question ${i % questions}`, `line-${i}`));
    const id = await beginBatch(asked);

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

    const { answered, repeats } = await responsesTo(id);
    console.log(JSON.stringify({ lines, repeats, seconds: (Date.now() - began) / 1_000 }));
    expect(new Set(answered).size).toBe(lines);
    expect(answered).toHaveLength(lines);
  },
);

test.each([
  ["OpenAI", "night"],
  ["Anthropic", "dawn"],
])("batches at %s: no line is submitted twice, lost, or answered twice", { timeout: 400_000 }, async (_of, arm) => {
  const most = Math.ceil(lines / 10);
  const before = provider.submitted().length;
  const created = (): string[] => provider.submitted().slice(before).flat();
  const someCreated = (count: number) =>
    eventually("lines at the provider", () => Promise.resolve(created().length >= count ? true : undefined), 240_000);
  provider.hold(true);
  const id = await beginBatch(Array.from({ length: most }, (_, i) => lineOf(arm, `${arm} ${i}`, `line-${i}`)));
  await someCreated(1);
  // Its answer is lost with the process, or its lines are still to be committed.
  await workers.kill("stages");
  await workers.start(stages, "stages");
  await someCreated(most / 2);
  await workers.kill("gateway");
  await workers.start("gateway", "gateway");
  await someCreated(most);
  await workers.kill("stages");
  provider.hold(false);
  await workers.start(stages, "stages");
  const batch = await progress(id, ({ status }) => status === "completed");
  expect(batch.request_counts).toEqual({ total: most, completed: most, failed: 0 });
  expect(created()).toHaveLength(most);
  expect(new Set(created()).size).toBe(most);
  const output = (await (await client.files.content(batch.output_file_id ?? "")).text()).trimEnd().split("\n");
  expect(output).toHaveLength(most);
  const { answered } = await responsesTo(id);
  expect(new Set(answered).size).toBe(most);
  expect(answered).toHaveLength(most);
});

const endpoint = "/v1/chat/completions" as const;
const lineOf = (model: string, content: string, id: string) => ({
  ...{ custom_id: id, method: "POST", url: endpoint },
  body: { model, messages: [{ role: "user", content }] },
});

async function beginBatch(all: readonly object[]): Promise<string> {
  const text = all.map((line) => JSON.stringify(line)).join("\n");
  const file = await client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "lines.jsonl") });
  const order = { input_file_id: file.id, endpoint, completion_window: "24h" } as const;
  return (await client.batches.create(order)).id;
}

/** Request ids of the answers on the topic, where a second one would not be merged away. */
async function responsesTo(batchId: string): Promise<{ answered: string[]; repeats: number }> {
  const firsts = new Map<string, string>();
  let repeats = 0;
  const reader = session.kafka.readTopic(session.topic("responses"), async (records, partition) => {
    for (const { value, offset } of records) {
      const decoded = value === null ? null : await session.codec.decode("responses", value);
      if (decoded?.ok !== true) throw new Error(`responses, ${partition}, ${offset}: it can't be read`);
      const { requestId, duplicate } = decoded.value;
      if (!requestId.startsWith(batchId)) continue;
      if (duplicate) repeats++;
      // A reader that had to join again reads records twice.
      else firsts.set(`${partition}/${offset}`, requestId);
    }
  });
  await reader.caughtUp.finally(() => reader.stop());
  return { answered: [...firsts.values()], repeats };
}
