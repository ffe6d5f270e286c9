// Answers that are not streamed, over real sockets: a client that takes nothing of its answer is
// disconnected, one that is slow is not, and neither is one that waits for its answer or comes back
// on the same connection.
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sendLines } from "./batches/transfers.ts";
import { createServer } from "./server.ts";

const slowReaderMs = 300;
/** More than the sockets of both sides hold. */
const long = "e".repeat(24 * 1_048_576);
let server: FastifyInstance;
let port: number;
/** Outcome of each request, when the gateway is done with its answer. */
let closed: Promise<unknown>[];

beforeEach(async () => {
  closed = [];
  server = createServer({ maxBodyBytes: 1_024, slowReaderMs, log: pino({ level: "silent" }) });
  server.addHook("onRequest", (_request, { raw }, done) => {
    closed.push(once(raw, "close"));
    done();
  });
  server.get("/long", () => long);
  server.get("/late", async () => {
    await sleep(3 * slowReaderMs);
    return "late";
  });
  server.get("/lines/:count", async ({ params }, reply) => {
    async function* lines(): AsyncGenerator<string> {
      for (let left = Number((params as { count: string }).count); left > 0; left--) {
        yield left % 2 === 1 ? "line\n" : long;
        await sleep(2 * slowReaderMs);
      }
    }
    await sendLines(reply, lines());
    return reply;
  });
  server.post("/body", ({ body }) => ({ body: body === undefined ? "none" : body }));
  await server.listen({ port: 0, host: "127.0.0.1" });
  ({ port } = server.server.address() as AddressInfo);
});
afterEach(() => server.close());

const asked = async (path: string, agent?: Agent): Promise<IncomingMessage> => {
  const [message] = (await once(get({ port, path, host: "127.0.0.1", agent }), "response")) as [IncomingMessage];
  return message;
};
const textOf = async (message: IncomingMessage, pauseMs = 0): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of message) {
    parts.push(part as Buffer);
    if (pauseMs > 0 && parts.length % 32 === 0) await sleep(pauseMs);
  }
  return Buffer.concat(parts).toString();
};

test.each(["/long", "/lines/2"])("a client that takes nothing of its answer is disconnected: %s", async (path) => {
  const message = await asked(path);
  message.pause();
  await closed[0];
  message.resume();
  await expect(once(message, "end")).rejects.toThrow("aborted");
});

test("one that is slow gets all of it, for longer than slowReaderMs", async () => {
  expect((await textOf(await asked("/long"), 60)).length).toBe(long.length);
});

test("one that waits for its answer's next line is not cut off", async () => {
  expect(await textOf(await asked("/lines/1"))).toBe("line\n");
  expect((await textOf(await asked("/lines/3"))).length).toBe(long.length + 10);
});

test("one that reads is not cut off because this process stood still", async () => {
  const began = performance.now();
  const passed = (): number => (performance.now() - began) / slowReaderMs;
  let length = 0;
  let parts = 0;
  let stood = false;
  for await (const part of await asked("/long")) {
    length += (part as Buffer).length;
    if (stood) continue;
    if (++parts % 32 === 0) await sleep(50);
    if (passed() < 1.9) continue;
    // A timer of all of slowReaderMs would fire in here, before what is read meanwhile shows.
    await sleep((2.1 - passed()) * slowReaderMs);
    while (passed() < 3.4);
    stood = true;
  }
  expect([length, stood]).toEqual([long.length, true]);
});

test("one that waits for its answer is not cut off, also behind another on its connection", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answers = ["/late", "/late", "/long", "/late"].map((path) => asked(path, agent).then((one) => textOf(one)));
  expect((await Promise.all(answers)).map(({ length }) => length)).toEqual([4, 4, long.length, 4]);
  agent.destroy();
});

test.each(["gzip", "br", "deflate", "zstd", "GZIP", "identity, gzip", "gzip, identity", "x"])(
  "a body in the encoding %s is refused before it is read as JSON",
  async (encoding) => {
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    const answer = await server.inject({ method: "POST", url: "/body", headers, payload: gzipSync("{}") });
    expect([answer.statusCode, answer.json<{ error: { code: string } }>().error.code]).toEqual([415, "encoded_body"]);
    const plain = { ...headers, "content-encoding": "Identity" };
    expect((await server.inject({ method: "POST", url: "/body", headers: plain, payload: "{}" })).statusCode).toBe(200);
  },
);

test.each(["/%", "/%c0%af", "/%E0%A4%A", "/body/%zz?a=%"])(
  "an address that does not decode is refused: %s",
  async (path) => {
    const answer = await textOf(await asked(path));
    expect(JSON.parse(answer)).toMatchObject({ error: { code: "bad_url", type: "invalid_request_error" } });
  },
);

test("a body that is named and not sent is none; one that is no JSON is refused", async () => {
  const post = (payload = "") =>
    server.inject({ method: "POST", url: "/body", headers: { "content-type": "application/json" }, payload });
  expect((await post()).json()).toEqual({ body: "none" });
  expect((await post('{"a":1}')).json()).toEqual({ body: { a: 1 } });
  expect((await post(" ")).statusCode).toBe(400);
});

test("an unknown address is an error in the format of its API", async () => {
  const error = async (url: string) => (await server.inject({ method: "POST", url })).json<object>();
  expect(await error("/v1/messages/batches?limit=1")).toEqual({
    type: "error",
    error: {
      type: "not_found_error",
      code: "unknown_url",
      message: expect.stringContaining("/v1/messages/batches") as string,
    },
  });
  expect(await error("/v1/moderations")).toMatchObject({ error: { code: "unknown_url", param: null } });
});
