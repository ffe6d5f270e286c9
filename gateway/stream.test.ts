// Streams over a real socket: what a slow reader is spared and what a reader that takes nothing
// costs.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import type { Chunks } from "./api/chunks.ts";
import { aResponse } from "./responses.testing.ts";
import { openStream } from "./stream.ts";

type Stream = ReturnType<typeof openStream>;

const chunks: Chunks = {
  begin: (hasContent = true) => (hasContent ? "(" : "["),
  ...{ text: (content) => content, calls: () => "", end: () => ")", error: () => "!", heartbeat: "" },
};
/** More than the sockets of both sides hold, in characters of two bytes. */
const long = "é".repeat(12 * 1_048_576);
let server: FastifyInstance;
afterEach(() => server.close());

interface Opened {
  stream: Promise<Stream>;
  reader: Promise<IncomingMessage>;
  /** Whether all was sent, once the gateway is done with the connection. */
  gone: Promise<boolean>;
}

const text = { text: "é", calls: [] as object[] };

async function open(slowReaderMs: number, heartbeat = "", first = text): Promise<Opened> {
  server = fastify({ forceCloseConnections: true });
  let gone: Promise<boolean> = Promise.resolve(false);
  const stream = new Promise<Stream>((resolve) => {
    server.get("/", (_request, reply) => {
      gone = once(reply.raw, "close").then(() => reply.raw.writableFinished);
      const opened = openStream(reply, { chunks: { ...chunks, heartbeat }, heartbeatMs: 15_000, slowReaderMs });
      opened.delta({ attempt: 1, index: 0, ...first } as unknown as Parameters<Stream["delta"]>[0]);
      resolve(opened);
    });
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  const { port } = server.server.address() as AddressInfo;
  const reader = once(get({ port, host: "127.0.0.1" }), "response").then(([message]) => message as IncomingMessage);
  return { stream, reader, gone: stream.then(() => gone) };
}

test("a model that says nothing for 310 s leaves no proxy without a sign for more than heartbeatMs", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const { stream, reader } = await open(1_000, ".");
    const message = await reader;
    const opened = await stream;
    vi.advanceTimersByTime(310_000);
    opened.finish(aResponse({ text: "éb" }));
    const parts = await message.toArray();
    expect(Buffer.concat(parts as Buffer[]).toString()).toBe(`(é${".".repeat(20)}b)`);
  } finally {
    vi.useRealTimers();
  }
});

test("says before calls of tools that there is no content, as OpenAI does", async () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const passthrough = JSON.stringify({ message: { tool_calls: [call] } });
  const piece = { index: 0, id: "c", type: "function", name: "f", arguments: "{" };
  // Whole at the end, and in pieces.
  for (const calls of [[], [piece]]) {
    const { stream, reader } = await open(1_000, "", { text: "", calls });
    (await stream).finish(aResponse({ text: "", passthrough }));
    expect(Buffer.concat((await (await reader).toArray()) as Buffer[]).toString()).toBe("[)");
    await server.close();
  }
});

test("a reader that is slow, but reads, gets all of it, for longer than slowReaderMs", async () => {
  const { stream, reader } = await open(1_000);
  const message = await reader;
  (await stream).finish(aResponse({ text: `é${long}` }));
  const parts: Buffer[] = [];
  for await (const part of message) {
    parts.push(part as Buffer);
    if (parts.length % 16 === 0) await sleep(80);
  }
  expect(Buffer.concat(parts).equals(Buffer.from(`(é${long})`))).toBe(true);
});

test("one is not disconnected because this process stood still", async () => {
  const { stream, reader } = await open(400);
  const message = await reader;
  (await stream).finish(aResponse({ text: `é${long}` }));
  // The socket is full by now.
  await sleep(50);
  const until = performance.now() + 600;
  while (performance.now() < until);
  expect(Buffer.concat((await message.toArray()) as Buffer[]).equals(Buffer.from(`(é${long})`))).toBe(true);
});

test("one that takes nothing is disconnected", async () => {
  const { stream, reader, gone } = await open(300);
  const message = await reader;
  message.pause();
  (await stream).finish(aResponse({ text: `é${long}` }));
  expect(await gone).toBe(false);
  message.resume();
  await expect(once(message, "end")).rejects.toThrow("aborted");
});
