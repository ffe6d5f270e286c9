// 10,000 streams open at once at one gateway, a process of its own as operators run it: `precedent
// up --stage gateway` on the real stack. They wait as streams do where an arm is overrun: the
// endpoint holds the first calls back, as many as the arm has slots, and all others wait behind
// them on their topic. Each has heartbeats; other tenants are answered meanwhile, as are /healthz
// and /metrics; what is too much is refused at once; and when the endpoint lets go each stream ends
// with its whole answer, once, and its memory and sockets are given back.
import { fork, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import getPort from "get-port";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChild, type Child } from "../../bench/loop/child.ts";
import { resident } from "../../bench/support/processes.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { answerOf, question, type Crowd, type Order } from "../support/crowd.ts";
import { connectionsOn } from "../support/sockets.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const streams = Number(process.env.PRECEDENT_STREAMS ?? 10_000);
/** A gateway for `streams` of one tenant: a tenant has at most as many as it leaves free. */
const maxOpen = 2 * streams;
/** Far more than is measured, and far less than what would be a fault. */
const mostKilobytesEach = 60;

let folder: string;
let endpoint: Server;
let system: TestSystem;
let gateway: Child;
let crowd: ChildProcess;
let baseURL: string;
let metricsUrl: string;
let shop: OpenAI;
let release: () => void;
let latest: Crowd;

const root = fileURLToPath(new URL("../..", import.meta.url));
const connections = (): Promise<number> => connectionsOn(Number(new URL(baseURL).port));

/** Answers by the first message; behind /held only when it is let go. */
function startEndpoint(): Promise<string> {
  const held: (() => void)[] = [];
  let isReleased = false;
  release = () => {
    isReleased = true;
    for (const answer of held.splice(0)) answer();
  };
  const answer = (response: ServerResponse, text: string): void => {
    const event = (value: object): string => `data: ${JSON.stringify({ id: "x", model: "mock", ...value })}\n\n`;
    const piece = (content: string): string => event({ choices: [{ index: 0, delta: { content } }] });
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const word of text.match(/\S+\s*/g) ?? []) response.write(piece(word));
    const end = event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    response.end(`${end}${event({ choices: [], usage })}data: [DONE]\n\n`);
  };
  endpoint = createServer((incoming, response) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    incoming.on("end", () => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      const text = answerOf(Number(messages[0]?.content.split(" ")[1]));
      if (isReleased || incoming.url?.startsWith("/held") !== true) answer(response, text);
      else held.push(() => answer(response, text));
    });
  });
  return new Promise((resolve) =>
    endpoint.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`)),
  );
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-crowd-"));
  const [url, port] = await Promise.all([startEndpoint(), getPort()]);
  const arm = {
    type: "openai",
    dispatch: "queued",
    model: "mock-1",
    retries: 0,
    cost: 1,
    concurrency: 256,
    timeoutMs: 300_000,
  };
  system = await startSystem(
    {
      arms: [
        { ...arm, name: "held", baseUrl: `${url}/held/v1` },
        { ...arm, name: "free", baseUrl: `${url}/free/v1` },
      ],
      limits: { deadlineMs: 600_000 },
      selection: { examples: 0 },
      gateway: { port, maxOpen, heartbeatMs: 5_000 },
    },
    { stages: ["plan", "generate"] },
  );
  const file = join(folder, "precedent.yaml");
  await writeFile(file, JSON.stringify({ ...system.config, log: { level: "info" } }));
  gateway = await startChild({
    arguments: [join(root, "tools/bin/precedent"), "up", "--config", file, "--stage", "gateway"],
    log: join(folder, "gateway.log"),
    signal: new AbortController().signal,
  });
  metricsUrl = String(gateway.announced.metrics);
  baseURL = `http://127.0.0.1:${port}/v1`;
  const keyOf = async (tenant: string): Promise<string> => {
    const { code, out, note } = await runCommand(folder, ["keys", "create", "--tenant", tenant]);
    expect(code, note).toBe(0);
    const key = out.trim();
    const isKnown = async () =>
      (await fetch(`${baseURL}/models`, { headers: { authorization: `Bearer ${key}` } })).ok || undefined;
    await system.eventually(`the key of ${tenant}`, isKnown);
    return key;
  };
  const key = await keyOf("crowd");
  shop = new OpenAI({ baseURL, apiKey: await keyOf("shop"), maxRetries: 0, timeout: 120_000 });
  crowd = fork(join(root, "tools/bin/run.mjs"), [join(root, "test/support/crowd-process.ts"), baseURL, key, "held"], {
    execArgv: [],
  });
  crowd.on("message", (reported: Crowd) => (latest = reported));
}, 240_000);
afterAll(async () => {
  crowd.disconnect();
  await gateway.stop();
  await system.stop();
  endpoint.closeAllConnections();
  endpoint.close();
  await rm(folder, { recursive: true, force: true });
});

const tell = (order: Order): void => void crowd.send(order);
const until = async (what: string, is: (crowd: Crowd) => boolean): Promise<Crowd> => {
  await system
    .eventually(
      what,
      () => {
        gateway.check();
        return Promise.resolve(is(latest) || latest.wrongs > 0 ? latest : undefined);
      },
      240_000,
    )
    .catch((error: unknown) => {
      throw new Error(`${what}: ${JSON.stringify(latest)}`, { cause: error });
    });
  expect([latest.wrongs, latest.wrong]).toEqual([0, []]);
  return latest;
};
const asksAs = async (n: number): Promise<string> => {
  const messages = [
    { role: "system" as const, content: `stream ${n}` },
    { role: "user" as const, content: question },
  ];
  const answered = await shop.chat.completions.create({ model: "free", messages });
  return answered.choices[0]?.message.content ?? "";
};
const othersAreAnswered = async (): Promise<void> => {
  const numbers = Array.from({ length: 50 }, (_, i) => 1_000_000 + i);
  expect(await Promise.all(numbers.map(asksAs))).toEqual(numbers.map(answerOf));
  expect((await fetch(new URL("/healthz", baseURL))).status).toBe(200);
  const metrics = await (await fetch(metricsUrl)).text();
  expect(metrics).toContain('precedent_healthy{stage="gateway"} 1');
};

test(`${streams} streams wait, and each gets its whole answer once`, { timeout: 600_000 }, async () => {
  await othersAreAnswered();
  const before = { connections: await connections(), resident: resident(gateway.pid).now };
  tell({ open: { from: 0, count: streams } });
  await until("all heartbeats", ({ beating }) => beating === streams);
  const open = { connections: await connections(), resident: resident(gateway.pid).now };
  expect(open.connections).toBeGreaterThanOrEqual(streams);
  const kilobytesEach = ((open.resident - before.resident) * 1024) / streams;
  // docs/gateway.md and docs/measurements.md have it from here.
  console.log(`${kilobytesEach.toFixed(1)} kB of the gateway a stream`);
  expect(kilobytesEach).toBeLessThan(mostKilobytesEach);

  // One more of this tenant is too many; others are answered.
  tell({ open: { from: streams, count: 20 } });
  const { refused } = await until("refusals", (now) => Object.values(now.refused).some((times) => times === 20));
  expect(refused).toEqual({ "429 too_many_open": 20 });
  await othersAreAnswered();

  release();
  const ended = await until("all answers", ({ right }) => right === streams);
  expect(ended.right).toBe(streams);
  await system.eventually("the connections", async () =>
    (await connections()) <= before.connections ? true : undefined,
  );
  // Its slots are free again.
  tell({ open: { from: streams + 20, count: 20 } });
  await until("later ones", ({ right }) => right === streams + 20);
  await othersAreAnswered();
});
