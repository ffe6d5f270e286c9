// The gateway while Kafka is away, on a stack of the test's own: what is asked gets 503 with a time
// to come back after, /healthz says so, a stream that was open gets its whole answer afterwards,
// and retries with the same key are answered once. PRECEDENT_OUTAGE_SECONDS=30 makes it longer.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { stageNames, startStages, type RunningStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import { attachStack, stopStack } from "../../stack/attach.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { withoutServer } from "../support/servers.ts";
import { eventually, testConfig } from "../support/system.ts";

/** Longer than the gateway takes to say that it is away (15 s). */
const outageMs = 1_000 * Number(process.env.PRECEDENT_OUTAGE_SECONDS ?? 20);
let folder: string;
let model: TestModel;
let session: Session;
let stages: RunningStages;
let client: OpenAI;
type Piece = OpenAI.Chat.ChatCompletionChunk;

noBrokerDefects(() => folder);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-gateway-away-"));
  model = await startModel();
  const stack = await attachStack(folder, { start: true });
  const arms = [{ name: "mock", type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, cost: 1 }];
  const limits = { drainMs: 5_000, deadlineMs: 600_000 };
  const config = testConfig({ arms, limits, gateway: { acceptMs: 2_000, heartbeatMs: 1_000 } }, folder, stack);
  session = await openSession(config, { log: createLog({ level: config.log.level }), start: false });
  stages = await startStages(session, { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") });
  client = new OpenAI({ baseURL: stages.baseUrl ?? "", apiKey: "none", maxRetries: 0, timeout: 120_000 });
}, 240_000);
afterAll(async () => {
  await stages.stop();
  await session.close();
  await model.stop();
  await stopStack(folder);
  await rm(folder, { recursive: true, force: true });
});

const health = async (): Promise<number> => (await fetch(new URL("/healthz", stages.baseUrl))).status;
const isHealth = (code: number) =>
  eventually(`health ${code}`, async () => ((await health()) === code ? true : undefined), 90_000);
const questions = Array.from({ length: 5 }, (_, i) => `asked while it is away, ${i}`);
const ask = (question: string, maxRetries = 0) =>
  client.chat.completions.create(
    { model: "mock", messages: [{ role: "user", content: question }] },
    { headers: { "Idempotency-Key": question.replaceAll(/[ ,]+/g, "-") }, maxRetries },
  );
const calls = (question: string) =>
  model.received().filter(({ messages }) => (messages as { content: string }[])[0]?.content === question).length;

test("503 with Retry-After, health says so, and nothing is lost or answered twice", { timeout: 400_000 }, async () => {
  const held = "held until it is let go, with more words";
  const stream = await client.chat.completions.create({
    ...{ model: "mock", stream: true },
    messages: [{ role: "user", content: held }],
  });
  const pieces = stream[Symbol.asyncIterator]();
  let text = "";
  while (text === "") text += ((await pieces.next()).value as Piece).choices[0]?.delta.content ?? "";
  expect(await health()).toBe(200);

  await withoutServer(folder, "kafka", async () => {
    const began = performance.now();
    const refused = await Promise.all(questions.map((question) => ask(question).catch((error: unknown) => error)));
    for (const error of refused) {
      expect(error).toMatchObject({ status: 503, code: "kafka_unavailable" });
      expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get("retry-after")).toBe("2");
    }
    await isHealth(503);
    // Its answer is there now, and can't be committed.
    model.release();
    await sleep(Math.max(0, outageMs - (performance.now() - began)));
  });

  await isHealth(200);
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next())
    text += next.value.choices[0]?.delta.content ?? "";
  expect(text).toBe(held);
  const answers = await Promise.all(questions.map((question) => ask(question, 5)));
  expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(questions);
  expect([held, ...questions].map(calls)).toEqual([1, 1, 1, 1, 1, 1]);
  const rows = await eventually("all recorded", async () => {
    const found = await session.clickhouse.query<{ answers: number; ids: number }>(
      "SELECT countIf(NOT duplicate) AS answers, uniqExact(request_id) AS ids FROM responses FINAL",
    );
    return found[0] !== undefined && Number(found[0].ids) >= 6 ? found[0] : undefined;
  });
  expect([Number(rows.answers), Number(rows.ids)]).toEqual([6, 6]);
});
