// Over real sockets: whatever a connection does, the server answers the others, and what Node.js
// refuses has the server's format.
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createGuardedServer, type GuardOptions } from "./guard.ts";
import { networkOf } from "./connection-bounds.ts";

let server: Server;
let port: number;
let sockets: Socket[] = [];
const errors: unknown[] = [];
const closed: string[] = [];

async function start(options: Partial<GuardOptions> = {}): Promise<void> {
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === "/throws") throw new Error("a bug");
    if (request.url === "/later") return;
    request.resume().on("end", () => response.end("fine"));
  };
  server = createGuardedServer(listener, {
    ...{ maxConnections: 100, requestMs: 30_000, idleMs: 30_000 },
    bodyOf: ({ code }) => ({ type: "text/plain", text: code }),
    onClosed: (address) => closed.push(address),
    onError: (error) => errors.push(error),
    ...options,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
}
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  [sockets, errors.length, closed.length] = [[], 0, 0];
});

async function open(localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}
/** All that comes until the server closes the connection. */
async function answerTo(text: string, socket?: Socket): Promise<string> {
  const to = socket ?? (await open());
  const parts: Buffer[] = [];
  to.on("data", (part: Buffer) => parts.push(part));
  const gone = once(to, "close");
  to.write(text);
  await gone;
  return Buffer.concat(parts).toString();
}
const get = (path: string, more = "connection: close\r\n"): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`;
const answers = async (localAddress?: string): Promise<boolean> =>
  (await answerTo(get("/"), await open(localAddress))).endsWith("fine");

it.each([
  ["no HTTP", "nonsense\r\n\r\n", 400, "bad_request"],
  ["an endless head", `GET / HTTP/1.1\r\nx: ${"y".repeat(20_000)}`, 431, "headers_too_large"],
  ["an endless URL", `GET /${"y".repeat(20_000)}`, 431, "headers_too_large"],
  ["many headers", `GET / HTTP/1.1\r\n${"a: b\r\n".repeat(9_000)}\r\n`, 431, "headers_too_large"],
  ["a broken chunk", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400, "bad_request"],
  [
    "two lengths",
    "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    400,
    "bad_request",
  ],
  [
    "endless extensions of a chunk",
    `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2;${"e".repeat(40_000)}\r\n`,
    ...([413, "body_too_large"] as const),
  ],
  [
    "endless trailers",
    `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"t: u\r\n".repeat(9_000)}`,
    ...([431, "headers_too_large"] as const),
  ],
  ["CONNECT", "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", 405, "unknown_method"],
  ["another Expect", get("/", "expect: tea\r\n"), 417, "unknown_expectation"],
  ["what throws in the listener", get("/throws"), 500, "internal_error"],
])("%s is refused in the server's format", async (_name, text, status, code) => {
  await start();
  const answer = await answerTo(text);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [A-Z]`));
  expect(answer.endsWith(`\r\n\r\n${code}`), answer).toBe(true);
  expect(errors).toHaveLength(status === 500 ? 1 : 0);
  expect(await answers()).toBe(true);
});

it("an upgrade that no one serves is a request as any other", async () => {
  await start();
  expect(await answerTo(get("/", "upgrade: websocket\r\nconnection: upgrade, close\r\n"))).toMatch(/ 200 OK[^]*fine$/);
});

it("what does not arrive in time is refused, also where nothing came at all", async () => {
  await start({ requestMs: 100 });
  for (const answer of await Promise.all(
    ["", "GET / HT", get("/later", "content-length: 9\r\n")].map((text) => answerTo(text)),
  ))
    expect(answer).toMatch(/^HTTP\/1.1 408 [^]*request_timeout$/);
});

it("an upload may take longer than other requests", async () => {
  await start({ requestMs: 100, longer: { ms: 30_000, isMeant: ({ url }) => url === "/upload" } });
  const upload = await open();
  upload.write(get("/upload", "content-length: 9\r\nconnection: close\r\n"));
  expect(await answerTo(get("/later", "content-length: 9\r\n"))).toMatch(/^HTTP\/1.1 408 [^]*request_timeout$/);
  expect(await answerTo("whole one", upload)).toMatch(/ 200 OK[^]*fine$/);
});

it("a refusal does not become part of an answer", async () => {
  await start();
  expect((await answerTo(`${get("/", "")}nonsense\r\n\r\n`)).match(/HTTP\/1.1/g)).toHaveLength(1);
});

it("silent connections of one address leave as many to the others, and its own new ones replace them", async () => {
  await start({ maxConnections: 40 });
  for (let i = 0; i < 60; i++) await open();
  expect(await answers("127.0.0.2")).toBe(true);
  expect(await answers()).toBe(true);
  expect(new Set(closed)).toEqual(new Set(["127.0.0.1"]));
  const held = () => sockets.filter((socket) => !socket.destroyed && socket.localAddress === "127.0.0.1").length;
  await expect.poll(held).toBeLessThanOrEqual(20);
});

it("of many addresses that take everything the one that is silent for longest goes", async () => {
  await start({ maxConnections: 20 });
  for (let i = 2; i < 60; i++) await open(`127.0.0.${i}`);
  expect(await answers("127.0.1.1")).toBe(true);
  expect(closed[0]).toBe("127.0.0.2");
});

it("an open request is never closed for another connection", async () => {
  await start({ maxConnections: 8 });
  const busy = await open();
  busy.write(get("/later", ""));
  await once(server, "request");
  for (let i = 0; i < 20; i++) await open(`127.0.0.${1 + (i % 5)}`);
  expect(busy.destroyed).toBe(false);
});

it("one whose requests are all open gets no more", async () => {
  await start({ maxConnections: 8 });
  for (let i = 0; i < 4; i++) {
    const arrived = once(server, "request");
    (await open()).write(get("/later", ""));
    await arrived;
  }
  const [refused] = [await open()];
  await once(refused, "close");
  expect(await answers("127.0.0.2")).toBe(true);
});

it("an error of the listener is the owner's, not the process's", async () => {
  await start();
  server.emit("error", new Error("accept EMFILE"));
  expect(errors).toHaveLength(1);
  expect(await answers()).toBe(true);
});

it.each([
  ["10.1.2.3", "10.1.2.3"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
  [undefined, ""],
])("%s counts as %s", (address, expected) => {
  expect(networkOf(address)).toBe(expected);
});
