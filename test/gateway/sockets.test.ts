// What impatient and broken clients do over real sockets (bodies alone: gateway/fuzz.test.ts):
// every complete request is answered, none with a 500; what is broken off costs nothing; and when
// clients leave at any moment of a stream, its call ends and its place is free.
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { stageNames } from "../../pipelines/up.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const maxBodyBytes = 65_536;
let model: TestModel;
let system: TestSystem;
let port: number;

beforeAll(async () => {
  model = await startModel();
  const arm = { name: "mock", type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, cost: 1 };
  system = await startSystem(
    { arms: [{ ...arm, concurrency: 64 }], gateway: { maxBodyBytes } },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  port = Number(new URL(system.stages.baseUrl ?? "").port);
});
afterAll(async () => {
  await system.stop();
  await model.stop();
});

const bodyOf = (question: string, more: object = {}): string =>
  JSON.stringify({ model: "mock", messages: [{ role: "user", content: question }], ...more });
const headOf = (length: number, more = "", version = "1.1"): string =>
  `POST /v1/chat/completions HTTP/${version}\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
  `content-length: ${length}\r\n${more}\r\n`;
const requestOf = (body: string, more = ""): string => headOf(Buffer.byteLength(body), more) + body;
const last = "connection: close\r\n";

async function open(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}
/** All that comes until the gateway closes the connection. */
async function reported(...parts: (string | Buffer)[]): Promise<string> {
  const socket = await open();
  const received: Buffer[] = [];
  socket.on("data", (part: Buffer) => received.push(part));
  const closed = once(socket, "close");
  for (const part of parts) socket.write(part);
  await closed;
  return Buffer.concat(received).toString();
}
const statuses = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code));
const slotsFree = () =>
  system.eventually("free slots", () =>
    Promise.resolve(system.stages.reports()["gateway"]?.inFlight === 0 ? true : undefined),
  );

test("requests in other manners are answered", async () => {
  const body = bodyOf("asked another way");
  const old = await reported(headOf(body.length, "", "1.0") + body);
  expect(statuses(old)).toEqual([200]);
  expect(old).toContain("asked another way");
  expect(statuses(await reported(headOf(body.length, `expect: 100-continue\r\n${last}`), body))).toEqual([100, 200]);
  const socket = await open();
  const answered = once(socket, "data") as Promise<[Buffer]>;
  for (const byte of Buffer.from(requestOf(body, last))) {
    socket.write(Buffer.of(byte));
    await sleep(1);
  }
  expect(statuses((await answered)[0].toString())).toEqual([200]);
  socket.destroy();
});

test("pipelined requests are answered in their order, a refused one among them", async () => {
  const questions = ["first of three", "takes a while, the second", "third of three"];
  const all = await reported(
    ...questions.map((question) => requestOf(bodyOf(question))),
    requestOf(bodyOf("refused", { n: 99 })),
    requestOf(bodyOf("the last"), last),
  );
  expect(statuses(all)).toEqual([200, 200, 200, 400, 200]);
  const at = [...questions, "the last"].map((question) => all.indexOf(`"content":"${question}"`));
  expect(at).toEqual([...at].sort((a, b) => a - b));
  expect(at).not.toContain(-1);
});

test("what can't be read is refused, never with a 500", async () => {
  const body = bodyOf("asked");
  const refused = [
    ["no HTTP at all\r\n\r\n"],
    [headOf(maxBodyBytes + 1, last), "x".repeat(maxBodyBytes + 1)],
    [headOf(11, last), Buffer.from("\xff\xfe\x80{}\xc3\x28 [[[", "latin1")],
    [headOf(gzipSync(body).length, `content-encoding: gzip\r\n${last}`), gzipSync(body)],
    [requestOf(body, `transfer-encoding: chunked\r\n${last}`)],
    [headOf(2, last).replace("application/json", "text/plain"), "{}"],
    [`GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-long: ${"y".repeat(100_000)}\r\n\r\n`],
  ];
  const codes = [];
  for (const parts of refused) codes.push(...statuses(await reported(...parts)));
  expect(codes).toEqual([400, 413, 400, 415, 400, 415, 431]);
  await slotsFree();
});

test("clients that leave at any moment cost nothing afterwards", { timeout: 180_000 }, async () => {
  const random = splitmix64(7);
  const words = Array.from({ length: 200 }, (_, i) => `word${i}`).join(" ");
  const leave = async (n: number): Promise<void> => {
    const request = requestOf(bodyOf(`slowly ${n} ${words}`, { stream: n % 4 !== 0 }));
    const socket = await open();
    socket.resume();
    // Every fifth goes before its request is whole.
    socket.write(n % 5 === 0 ? request.slice(0, Math.floor(random() * request.length)) : request);
    await sleep(random() * 1_500);
    if (random() < 0.5) socket.destroy();
    else socket.resetAndDestroy();
  };
  await Promise.all(Array.from({ length: 200 }, (_, n) => leave(n)));
  await slotsFree();
  const after = await reported(requestOf(bodyOf("still here"), last));
  expect([statuses(after), after.includes('"content":"still here"')]).toEqual([[200], true]);
  // The calls were ended, and so were their connections.
  const asked = () => model.received().filter(({ messages }) => JSON.stringify(messages).includes("slowly"));
  const answered = await system.eventually("the ends of all calls", () => {
    const ended = [...system.responses.values()].flat().filter(({ status, error }) => status === "ok" || error?.code);
    return Promise.resolve(ended.length >= asked().length ? ended : undefined);
  });
  expect(answered.filter(({ error }) => error?.code === "cancelled").length).toBeGreaterThan(0);
});
