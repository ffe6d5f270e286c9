// Endpoints that send without end, or what unpacks to gigabytes: each call ends with a code that
// retries and breakers know, and what was read is bounded and returned.
import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createBrotliCompress, createDeflate, createGzip, gzipSync, type Gzip } from "node:zlib";
import { expect, it } from "vitest";
import { chunk, endpoint, good, type Handler, never, request, stream } from "./endpoint.testing.ts";

const mebibyte = 1_048_576;
const block = Buffer.alloc(65_536, "a");

/** Writes what `make` gives until the client leaves, at most `most` times. */
function pump(response: ServerResponse | Gzip, make: (n: number) => string | Buffer, most = 100_000): void {
  let n = 0;
  const go = (): void => {
    while (n < most && !response.destroyed) if (!response.write(make(n++))) return void response.once("drain", go);
    if (!response.destroyed) response.end();
  };
  go();
}
/** 3 GB behind a few megabytes. */
function inflating(type: string, first: string, pack: () => Gzip, encoding: string, code = 200): Handler {
  return (_request, response) => {
    response.writeHead(code, { "content-type": type, "content-encoding": encoding });
    const packed = pack();
    packed.on("error", () => undefined);
    response.on("close", () => packed.destroy());
    packed.pipe(response);
    packed.write(first);
    pump(packed, () => block, 48_000);
  };
}
const json = "application/json";
const sse = "text/event-stream";
const unavailable = "endpoint_unavailable";
const packedTwice = gzipSync(gzipSync(Buffer.alloc(32 * mebibyte)));
const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;

const hostile: readonly (readonly [name: string, streams: boolean, code: string, handler: Handler])[] = [
  [
    "an event without end",
    true,
    unavailable,
    (_, response) => (stream(response).write("data: "), pump(response, () => block)),
  ],
  [
    "pieces without end",
    true,
    unavailable,
    (_, response) => pump(stream(response), () => chunk("word ".repeat(2_000))),
  ],
  [
    "comments without end",
    true,
    unavailable,
    (_, response) => pump(stream(response), () => `: ${"c".repeat(9_000)}\n\n`),
  ],
  [
    "an answer without end",
    false,
    unavailable,
    (_, response) => {
      response.writeHead(200, { "content-type": json }).write('{"choices":[{"message":{"content":"');
      pump(response, () => block);
    },
  ],
  ["an error without end", true, unavailable, (_, response) => pump(response.writeHead(500), () => block)],
  ["a refusal without end", false, "request_rejected", (_, response) => pump(response.writeHead(400), () => block)],
  ["a stream that inflates", true, unavailable, inflating(sse, "data: ", createGzip, "gzip")],
  ["an answer that inflates", false, unavailable, inflating(json, '"', createGzip, "gzip")],
  ["an answer that inflates (br)", false, unavailable, inflating(json, '"', createBrotliCompress, "br")],
  ["an answer that inflates (deflate)", false, unavailable, inflating(json, '"', createDeflate, "deflate")],
  ["an error that inflates", true, unavailable, inflating("text/plain", "", createGzip, "gzip", 503)],
  [
    "what is packed twice",
    false,
    unavailable,
    (_, response) => {
      response.writeHead(200, { "content-type": json, "content-encoding": "gzip, gzip" }).end(packedTwice);
    },
  ],
  [
    "packed bytes that are none",
    false,
    "stream_cut",
    (_, response) => {
      response.writeHead(200, { "content-type": json, "content-encoding": "gzip" }).end("no gzip at all");
    },
  ],
  ["an event of brackets", true, unavailable, (_, response) => stream(response).end(`data: ${nested}\n\n`)],
  [
    "a piece that is nested deep",
    true,
    unavailable,
    (_, response) => {
      stream(response).end(`data: {"choices":[{"delta":{"x":${nested}}}]}\n\n`);
    },
  ],
  [
    "an answer that is nested deep",
    false,
    unavailable,
    (_, response) => {
      response.writeHead(200, { "content-type": json }).end(`{"choices":[{"message":{"content":"a","x":${nested}}}]}`);
    },
  ],
  ...[301, 302, 303, 307, 308].map(
    (code) =>
      [
        `a redirect (${code})`,
        true,
        "endpoint_rejected",
        (_: unknown, response: ServerResponse) => {
          response.writeHead(code, { location: "/v1/elsewhere" }).end();
        },
      ] as const,
  ),
];

const passthrough = JSON.stringify({ messages: [{ role: "user", content: "hi" }] });

it.each(hostile)("%s is refused", async (_name, streams, code, handler) => {
  const { arm, received } = await endpoint(handler, { retries: 0, stream: streams });
  expect(await arm.answer({ ...request(), passthrough }, never())).toMatchObject({ kind: "failure", code });
  // A redirect that was followed would be a second one.
  expect(received).toHaveLength(1);
});

it("a burst of them takes bounded memory and gives it back", { timeout: 60_000 }, async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const memory = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / mebibyte;
  };
  const handlers = hostile.map(([, , , handler]) => handler);
  const { arm } = await endpoint((...call) => handlers[call[2] % handlers.length]?.(...call), {
    ...{ retries: 0, concurrency: 32 },
  });
  collect();
  const before = memory();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, memory())), 10);
  const codes = await Promise.all(
    Array.from({ length: handlers.length }, () =>
      arm.answer({ ...request(), passthrough }, never()).then(({ kind }) => kind),
    ),
  );
  clearInterval(timer);
  expect(new Set(codes)).toEqual(new Set(["failure"]));
  expect(most - before).toBeLessThan(256);
  // Connections that were cut let go of their buffers a moment later.
  const kept = (): number => {
    collect();
    return memory() - before;
  };
  await expect.poll(kept, { timeout: 20_000 }).toBeLessThan(32);
});

it("usage beyond all bounds and long names are not taken over", async () => {
  const model = "m".repeat(100_000);
  const usage = { prompt_tokens: 1e15, completion_tokens: -1e15 };
  const { arm } = await endpoint((_request, response) => {
    const piece = { model, choices: [{ delta: { content: "ok" }, finish_reason: "s".repeat(100_000) }] };
    stream(response).end(
      `data: ${JSON.stringify(piece)}\n\ndata: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
    );
  });
  const answer = await arm.answer(request(), never());
  expect(answer).toMatchObject({ kind: "answer", text: "ok" });
  if (answer.kind === "answer") {
    expect(answer.usage.prompt).toBeLessThan(1_000);
    expect([answer.model.length, answer.finishReason]).toEqual([200, "unknown"]);
  }
});

it("packed answers within the bounds are read", async () => {
  const { arm } = await endpoint((...call) => {
    const [, response] = call;
    const packed = createGzip();
    response.writeHead(200, { "content-type": sse, "content-encoding": "gzip" });
    packed.pipe(response);
    good(call[0], Object.assign(packed, { writeHead: () => packed }) as unknown as ServerResponse, call[2]);
  });
  expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", text: "Hello" });
});
