// `precedent up` under hostile clients, endpoints and bugs: the process of all stages lives on,
// others are answered meanwhile, and what does end is started again.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request as call, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGzip } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stackStatus } from "../../stack/attach.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { residentOf, startKeptUp, type KeptUp } from "../support/kept-up.ts";
import { bytesOf, sendBytes } from "../support/raw-bytes.ts";
import { testStack } from "../support/stack.ts";
import { eventually, testConfig } from "../support/system.ts";

const maxOpen = 32;
const maxConnections = 2 * maxOpen + 64;
let folder: string;
let model: TestModel;
let evil: Server;
let up: KeptUp;
const sockets: Socket[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "precedent-hostile-"));
  model = await startModel();
  // 2 GB behind two megabytes, as an answer or as an error.
  evil = createServer((request, response) => {
    request.resume();
    const code = request.url?.startsWith("/error") ? 500 : 200;
    response.writeHead(code, { "content-type": "application/json", "content-encoding": "gzip" });
    const packed = createGzip();
    packed.pipe(response);
    response.on("close", () => packed.destroy());
    packed.on("error", () => undefined);
    const block = Buffer.alloc(1_048_576, 32);
    let left = 2_000;
    const go = (): void => {
      while (left-- > 0 && !packed.destroyed) if (!packed.write(block)) return void packed.once("drain", go);
      packed.end();
    };
    go();
  }).listen(0, "127.0.0.1");
  await once(evil, "listening");
  const evilUrl = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
  const arm = { type: "openai", retries: 0, cost: 1, model: "mock-1" };
  const arms = [
    { ...arm, name: "mock", baseUrl: model.baseUrl },
    { ...arm, name: "bomb", baseUrl: `${evilUrl}/v1`, stream: false },
    { ...arm, name: "error", baseUrl: `${evilUrl}/error/v1` },
  ];
  const config = testConfig({ arms, gateway: { maxOpen } }, folder);
  up = await startKeptUp(folder, { ...config, log: { level: "info" } });
}, 120_000);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await up?.stop();
  await model.stop();
  evil.closeAllConnections();
  evil.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const portOf = (url: string): number => Number(new URL(url).port);
/** Status of one chat completion, from an address of this machine. */
function ask(arm = "mock", localAddress = "127.0.0.1"): Promise<number> {
  const body = JSON.stringify({ model: arm, messages: [{ role: "user", content: `hi ${Math.random()}` }] });
  const headers = { "content-type": "application/json", host: "localhost" };
  const target = { host: "127.0.0.1", port: portOf(up.urls().gateway), path: "/v1/chat/completions", localAddress };
  return new Promise((resolve, reject) => {
    const request = call({ ...target, method: "POST", headers, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    request.on("error", reject).end(body);
  });
}
async function statusOf(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    call(url, { headers: { host }, agent: false }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", reject)
      .end();
  });
}

test("bytes at every socket end no process, and all servers answer afterwards", async () => {
  const { registryUrl, clickhouse, folder: stackFolder } = testStack();
  const before = { up: up.pid(), servers: (await stackStatus(stackFolder)).servers.map(({ pid }) => pid) };
  const { gateway, health } = up.urls();
  for (const path of ["/%", "/%E0%A4%A", "//", "/v1/%ff", "/page/files/%", "/?query_id=%0d%0a"])
    for (const url of [gateway, health, registryUrl, clickhouse.url])
      await sendBytes(portOf(url), [Buffer.from(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)]);
  for (const url of [gateway, health, registryUrl, clickhouse.url]) {
    const port = portOf(url);
    let seed = 1_000_000 + port;
    const end = seed + 200;
    const client = async (): Promise<void> => {
      while (seed < end) await sendBytes(port, bytesOf(seed++));
    };
    await Promise.all(Array.from({ length: 16 }, client));
  }
  expect(await ask()).toBe(200);
  expect(await statusOf(health, "localhost")).toBe(200);
  expect(await statusOf(`${registryUrl}/subjects`, "localhost")).toBe(200);
  expect(await statusOf(`${clickhouse.url}/ping`, "localhost")).toBe(200);
  const servers = (await stackStatus(stackFolder)).servers.map(({ pid }) => pid);
  expect({ up: up.pid(), servers }).toEqual(before);
});

test("no server answers to the name of another site", async () => {
  const { registryUrl, clickhouse } = testStack();
  const { gateway, metrics, health } = up.urls();
  for (const url of [`${gateway}/models`, metrics, health, `${registryUrl}/subjects`, `${clickhouse.url}/ping`])
    expect([401, 403, 516], url).toContain(await statusOf(url, "evil.example"));
});

test("silent connections shut out neither others nor health", async () => {
  const [port, healthPort] = [portOf(up.urls().gateway), portOf(up.urls().health)];
  for (let i = 0; i < 3 * maxConnections; i++)
    for (const to of [port, healthPort]) {
      const socket = connect({ port: to, host: "127.0.0.1", localAddress: `127.0.0.${1 + (i % 3)}` });
      socket.on("error", () => undefined);
      sockets.push(socket);
    }
  await eventually("a warning", () =>
    Promise.resolve(up.logged("idle connections are closed").length > 0 || undefined),
  );
  for (const address of ["127.0.0.1", "127.0.0.9"]) expect(await ask("mock", address), address).toBe(200);
  expect(await statusOf(up.urls().health, "localhost")).toBe(200);
  for (const socket of sockets.splice(0)) socket.destroy();
});

test("a burst of answers that inflate takes bounded memory while others are answered", async () => {
  const before = residentOf(up.pid());
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, residentOf(up.pid()))), 50);
  const bombs = Promise.all(Array.from({ length: 12 }, (_, i) => ask(i % 2 === 0 ? "bomb" : "error")));
  expect(await ask()).toBe(200);
  expect(new Set(await bombs)).toEqual(new Set([502]));
  clearInterval(timer);
  expect(most - before).toBeLessThan(400);
});

test.each([
  ["a bug outside of every handler", () => up.throwNow(), "code 70"],
  ["a native library that aborts", () => process.kill(up.pid(), "SIGABRT"), "SIGABRT"],
])("after %s all stages run again", { timeout: 120_000 }, async (_name, break_, how) => {
  const runs = up.logged("running").length;
  const before = up.pid();
  break_();
  await up.running(runs + 1);
  expect(up.pid()).not.toBe(before);
  expect(up.logged("the process of all stages ended").at(-1)).toMatchObject({ ended: how, level: "error" });
  if (how === "code 70")
    expect(up.logged("a bug ends this process")).toMatchObject([
      { level: "fatal", origin: "uncaughtException", err: { message: "a bug in a timer" } },
    ]);
  await eventually("an answer", async () => ((await ask()) === 200 ? true : undefined));
});

test("a stop ends both processes", async () => {
  const pid = up.pid();
  expect(await up.stop()).toBe(0);
  expect(residentOf(pid)).toBe(0);
});
