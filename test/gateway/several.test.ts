// Two gateways on one stack, one of them a process of its own: every answer comes to the gateway
// that was asked, by its reply partitions. One that is killed with 100 streams open loses its
// connections and nothing else: retries with the same Idempotency-Key, at the other gateway, get
// their answers, the model is called once for each, and each request has one first response.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const other = "gateway-b";
let folder: string;
let model: TestModel;
let system: TestSystem;
let workers: Workers;
let here: OpenAI;
let there: OpenAI;

const clientOf = (baseURL: string) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-gateways-"));
  model = await startModel();
  const mock = {
    name: "mock",
    type: "openai",
    baseUrl: model.baseUrl,
    model: "mock-1",
    retries: 0,
    cost: 1,
    timeoutMs: 300_000,
  };
  system = await startSystem(
    { arms: [{ ...mock, concurrency: 256 }] },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  const port = await freePort();
  workers = createWorkers({ ...system.config, gateway: { ...system.config.gateway, port } }, folder);
  await workers.start("gateway", other);
  [here, there] = [clientOf(system.stages.baseUrl ?? ""), clientOf(`http://127.0.0.1:${port}/v1`)];
  const isShared = async (): Promise<true | undefined> => {
    const answered = await fetch(`http://127.0.0.1:${port}/healthz`);
    return answered.ok ? true : undefined;
  };
  await system.eventually("the other gateway", isShared);
}, 240_000);
afterAll(async () => {
  await workers.stop();
  await system.stop();
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

const user = (content: string) => [{ role: "user" as const, content }];
const callsOf = (question: string): number =>
  model.received().filter(({ messages }) => (messages as { content: string }[])[0]?.content === question).length;

async function streamed(client: OpenAI, question: string, headers: Record<string, string> = {}, onText = () => {}) {
  const stream = await client.chat.completions.create(
    { model: "mock", messages: user(question), stream: true },
    { headers },
  );
  let text = "";
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    if (text !== "") onText();
  }
  return text;
}
const whole = async (client: OpenAI, question: string, headers: Record<string, string> = {}) =>
  (await client.chat.completions.create({ model: "mock", messages: user(question) }, { headers })).choices[0]?.message
    .content;

/** By the gateway here. */
const partitionsUsed = (expected: number) => async (): Promise<true | undefined> => {
  const answered = await fetch((system.stages.baseUrl ?? "").replace(/v1$/, "healthz"));
  return ((await answered.json()) as { partitions: number }).partitions === expected ? true : undefined;
};

describe("two gateways", () => {
  test("each gets the answers to what it was asked, streamed and not", async () => {
    const questions = Array.from({ length: 60 }, (_, i) => `question ${i}`);
    const answers = await Promise.all(
      questions.map((question, i) => (i % 4 < 2 ? streamed : whole)(i % 2 === 0 ? here : there, question)),
    );
    expect(answers).toEqual(questions);
  });

  test("one is killed with 100 streams open: retries at the other get their answers, once", async () => {
    const questions = Array.from({ length: 100 }, (_, i) => `held ${i} and no more`);
    const headersOf = (i: number) => ({ "Idempotency-Key": `killed-${i}` });
    const begun = new Set<number>();
    const lost = questions.map((question, i) =>
      streamed(there, question, headersOf(i), () => begun.add(i)).then(
        () => "answered",
        () => "lost",
      ),
    );
    await system.eventually("100 streams", () => Promise.resolve(begun.size === 100 ? true : undefined));
    await workers.kill(other);
    expect(await Promise.all(lost)).toEqual(questions.map(() => "lost"));

    const again = Promise.all(questions.map((question, i) => whole(here, question, headersOf(i))));
    await system.eventually("a reply partition for every 32 of 100", partitionsUsed(4));
    model.release();
    expect(await again).toEqual(questions);
    await system.eventually("one while no client waits", partitionsUsed(1));
    expect(questions.map(callsOf)).toEqual(questions.map(() => 1));
    const first = [...system.responses.values()]
      .flat()
      .filter(({ text, duplicate }) => text.startsWith("held") && !duplicate);
    expect(first).toHaveLength(100);
  });
});
