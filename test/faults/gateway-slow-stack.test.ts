// 1,000 slow readers of answers that come through the real stack, at a gateway in a process of its
// own: model, pieces by Kafka, response. Many ask the same under one Idempotency-Key, so that each
// answer is made once and read by many. All get the whole of theirs, others are answered meanwhile,
// and afterwards nothing is held (gateway-slow-readers.test.ts has what happens beyond the bound).
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import getPort from "get-port";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChild, type Child } from "../../bench/loop/child.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const execute = promisify(execFile);
const [readers, questions] = [1_000, 10];
/** Much more than sockets hold. */
const pieces = 10;
const piece = "word ".repeat(4_000);

let folder: string;
let endpoint: Server;
let calls = 0;
let model: TestModel;
let system: TestSystem;
let gateway: Child;
let port: number;

/** Lets answers go on behind their first piece. */
let release: () => void;
const released = new Promise<void>((resolve) => (release = resolve));

/** Says a long answer, a piece at a time. */
function startEndpoint(): Promise<string> {
  endpoint = createServer((incoming, response) => {
    calls++;
    incoming.resume().once("end", () => {
      const event = (value: object): string => `data: ${JSON.stringify({ id: "x", model: "slow", ...value })}\n\n`;
      const say = async (): Promise<void> => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (let index = 0; index < pieces; index++) {
          response.write(event({ choices: [{ index: 0, delta: { content: piece } }] }));
          await (index === 0 ? released : sleep(50));
        }
        const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
        response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
        response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
      };
      void say();
    });
  });
  return new Promise((resolve) =>
    endpoint.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`)),
  );
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-slow-"));
  const url = await startEndpoint();
  [port, model] = await Promise.all([getPort(), startModel()]);
  const arm = { type: "openai", retries: 0, cost: 1 };
  system = await startSystem(
    {
      arms: [
        { ...arm, name: "slow", baseUrl: `${url}/v1`, model: "slow-1" },
        { ...arm, name: "brisk", baseUrl: model.baseUrl, model: "mock-1" },
      ],
      selection: { examples: 0 },
      gateway: { port, maxOpen: 4 * readers, maxUnsentBytes: 1_073_741_824 },
    },
    { stages: ["plan", "generate"] },
  );
  const file = join(folder, "precedent.yaml");
  await writeFile(file, JSON.stringify({ ...system.config, log: { level: "info" } }));
  gateway = await startChild({
    arguments: [
      fileURLToPath(new URL("../../tools/bin/precedent", import.meta.url)),
      ...["up", "--config", file, "--stage", "gateway"],
    ],
    log: join(folder, "gateway.log"),
    signal: new AbortController().signal,
  });
}, 240_000);
afterAll(async () => {
  await gateway.stop();
  await system.stop();
  await model.stop();
  endpoint.closeAllConnections();
  endpoint.close();
  await rm(folder, { recursive: true, force: true });
});

/** 0 where there is none yet. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(String(gateway.announced.metrics))).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
}

test(`${readers} slow readers get their whole answers through the stages`, { timeout: 180_000 }, async () => {
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none", maxRetries: 0 });
  const given = [String(port), "/v1/chat/completions", String(readers), "16384", "20", String(questions)];
  const script = fileURLToPath(new URL("../support/slow_readers.py", import.meta.url));
  let done = false;
  const reading = execute("python3", [script, ...given], { timeout: 150_000 });
  const slow = reading.finally(() => (done = true));
  // All wait along for the same few answers; who came later would be sent a copy by the stages.
  await system.eventually("all readers", async () =>
    (await metric("precedent_gateway_open")) >= readers ? true : undefined,
  );
  release();
  let mostUnsent = await system.eventually("more left in the gateway than sockets hold", async () => {
    const unsent = await metric("precedent_gateway_unsent_bytes");
    return unsent > 32 * 1_048_576 ? unsent : undefined;
  });
  reading.child.stdin?.end();
  let asked = 0;
  do {
    const texts = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const content = `brisk ${asked++}`;
        const messages = [{ role: "user" as const, content }];
        const answer = await client.chat.completions.create({ model: "brisk", messages });
        return answer.choices[0]?.message.content === content;
      }),
    );
    expect(texts).toEqual(texts.map(() => true));
    mostUnsent = Math.max(mostUnsent, await metric("precedent_gateway_unsent_bytes"));
    gateway.check();
  } while (!done);
  const { stdout } = await slow;
  expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ whole: readers, cut: 0, other: 0 });
  expect(calls).toBe(questions);
  console.log(`${(mostUnsent / 1_048_576).toFixed(0)} MiB unsent at most; ${asked} others answered meanwhile`);
  // They are slow enough to leave something in the gateway.
  expect(mostUnsent).toBeGreaterThan(32 * 1_048_576);
  await system.eventually("nothing held any more", async () => {
    const held = [await metric("precedent_gateway_open"), await metric("precedent_gateway_unsent_bytes")];
    return held.every((one) => one === 0) ? true : undefined;
  });
});
