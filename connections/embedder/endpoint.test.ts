// The endpoint embedder against an HTTP server that behaves as OpenAI, vLLM and TEI do: limits on a
// text's length, refusals, overload, vectors in any order, base64.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEndpointEmbedder, type EndpointEmbedderOptions } from "./endpoint.ts";
import { readEmbeddings } from "./embeddings.ts";
import { EmbedderError, type Embedder } from "./port.ts";

interface Asked {
  url: string;
  authorization: string | undefined;
  model: string;
  input: string[];
}
type Answer = (asked: Asked) => { status?: number; headers?: Record<string, string>; body: unknown };

/** Not of unit length: first the text's length, then a constant. */
const vectorOf = (text: string): number[] => [text.length, 4];
const listOf: Answer = ({ input }) => ({
  body: { data: input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) })).reverse() },
});
const unit = (text: string): Float32Array => {
  const length = Math.hypot(...vectorOf(text));
  return Float32Array.from(vectorOf(text), (one) => one / length);
};

let server: Server;
let asked: Asked[];
let answer: Answer;
let embedder: Embedder | undefined;

beforeEach(async () => {
  [asked, answer] = [[], listOf];
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { model, input } = JSON.parse(Buffer.concat(parts).toString()) as Pick<Asked, "model" | "input">;
      const one = { url: request.url ?? "", authorization: request.headers.authorization, model, input };
      asked.push(one);
      const { status = 200, headers = {}, body } = answer(one);
      response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await embedder?.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const open = (over: Partial<EndpointEmbedderOptions> = {}, path = "/v1"): Embedder =>
  (embedder = createEndpointEmbedder({
    ...{ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, apiKey: "", model: "org/small" },
    ...{ dimension: 2, maxBatch: 8, cacheEntries: 10, log: pino({ level: "silent" }), waits: { first: 1, limit: 2 } },
    ...over,
  }));

test("texts that are asked together go in one call, and vectors of any order come back as unit vectors", async () => {
  const made = open({ apiKey: "secret" }, "/v1/?api-version=2");
  const found = await Promise.all(["a", "bb", "ccc", "a"].map((text) => made.embed(text)));
  expect(found).toEqual(["a", "bb", "ccc", "a"].map(unit));
  expect(asked.map(({ input }) => input.toSorted())).toEqual([["a", "bb", "ccc"]]);
  expect(asked[0]).toMatchObject({
    ...{ url: "/v1/embeddings?api-version=2", authorization: "Bearer secret", model: "org/small" },
  });
  await made.embed("bb");
  expect(asked).toHaveLength(1);
});

test.each([301, 302, 307, 308])("an address that answers with %i gets neither texts nor key", async (status) => {
  answer = ({ url }) => (url === "/other" ? listOf(asked[0]!) : { status, headers: { location: "/other" }, body: "" });
  const made = open({ apiKey: "secret" });
  await expect(made.embed("a")).rejects.toMatchObject({
    code: "embedder_unavailable",
    message: expect.stringContaining(`answered ${status}`) as string,
  });
  expect(asked.map(({ url }) => url)).toEqual(["/v1/embeddings"]);
});

test.each([200, 503])("an answer with %i that has no end is read within bounds", async (status) => {
  const before = process.memoryUsage().rss;
  const block = Buffer.alloc(1_048_576, " ");
  server.removeAllListeners("request").on("request", (_request, response) => {
    response.writeHead(status).on("error", () => undefined);
    let written = 0;
    const go = (): void => {
      while (written++ < 400 && !response.destroyed) if (!response.write(block)) return void response.once("drain", go);
      response.end();
    };
    go();
  });
  await expect(open().embed("a")).rejects.toMatchObject({ code: "embedder_unavailable" });
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1_048_576);
});

test("no key is sent where there is none, and base64 is read", async () => {
  answer = ({ input }) => ({
    body: {
      data: input.map((text) => ({
        embedding: Buffer.from(Float32Array.from(vectorOf(text)).buffer).toString("base64"),
      })),
    },
  });
  expect(await open().embed("abc")).toEqual(unit("abc"));
  expect(asked[0]?.authorization).toBeUndefined();
});

describe("a text that the endpoint refuses", () => {
  test.each([400, 413, 422])("is cut with status %i, and the others keep their vectors", async (status) => {
    answer = (one) =>
      one.input.some((text) => text.length > 1_000)
        ? { status, body: { error: { message: "too long" } } }
        : listOf(one);
    const made = open();
    const long = "x".repeat(5_000);
    const found = await Promise.all(["a", long, "ccc"].map((text) => made.embed(text)));
    expect(found).toEqual([unit("a"), unit("x".repeat(800)), unit("ccc")]);
  });

  test("however short it is, fails alone", async () => {
    answer = (one) => (one.input.includes("bad") ? { status: 400, body: "no" } : listOf(one));
    const made = open();
    const found = await Promise.allSettled(["a", "bad", "ccc"].map((text) => made.embed(text)));
    expect(found.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(found[1]).toMatchObject({ reason: { code: "not_finite" } });
  });

  test("nothing empty and no half characters are sent", async () => {
    await open({ maxBatch: 1 }).embedAll(["", "a\ud800b"]);
    expect(asked.map(({ input }) => input).toSorted()).toEqual([[" "], ["a\ufffdb"]]);
  });
});

test("an overloaded endpoint is asked again, a few times", async () => {
  let calls = 0;
  answer = (one) => (++calls < 3 ? { status: calls === 1 ? 429 : 503, body: "busy" } : listOf(one));
  const made = open();
  expect(await made.embed("a")).toEqual(unit("a"));
  calls = -10;
  await expect(made.embed("bb")).rejects.toMatchObject({ code: "embedder_unavailable" });
  expect(calls).toBe(-7);
});

test("a refused key is told without the key, at once", async () => {
  answer = () => ({ status: 401, body: { error: { message: "Incorrect key sk-123456" } } });
  const failure = open({ apiKey: "sk-123456" }).embed("a");
  await expect(failure).rejects.toMatchObject({ code: "embedder_unavailable" });
  await expect(failure).rejects.toThrow(/answered 401: .*Incorrect key \[key\]/);
  expect(asked).toHaveLength(1);
});

test.each<[string, unknown, RegExp]>([
  ["no JSON", "<html>", /no JSON: <html>/],
  ["no list", { data: {} }, /no list in data/],
  ["too few vectors", { data: [] }, /0 vectors for 1 texts/],
  ["another dimension", { data: [{ embedding: [1, 2, 3] }] }, /vectors of 3 numbers, and embedder.dimension is 2/],
  ["a foreign index", { data: [{ index: 1, embedding: [1, 2] }] }, /data\[0\].index is 1/],
  ["words", { data: [{ embedding: ["1", 2] }] }, /no list of numbers/],
  ["half a number", { data: [{ embedding: "AAA=" }] }, /no base64 of float32/],
])("%s is no answer", async (_, body, message) => {
  answer = () => ({ body });
  const failure = open().embed("a");
  await expect(failure).rejects.toMatchObject({ code: "embedder_unavailable" });
  await expect(failure).rejects.toThrow(message);
});

test("a vector without a length, or with one beyond all numbers, fails alone", async () => {
  const odd: Record<string, number[]> = { zero: [0, 0], endless: [1.7e308, 1.7e308] };
  answer = ({ input }) => ({ body: { data: input.map((text) => ({ embedding: odd[text] ?? [3, 4] })) } });
  const made = open();
  const found = await Promise.allSettled(["a", "zero", "endless"].map((text) => made.embed(text)));
  expect(found.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
});

test("whatever an endpoint answers, it is unit vectors or an EmbedderError", () => {
  const numbers = fc.oneof(fc.array(fc.double(), { maxLength: 3 }), fc.base64String({ maxLength: 16 }), fc.jsonValue());
  const list = fc.array(
    fc.record({ index: fc.oneof(fc.nat(2), fc.jsonValue()), embedding: numbers }, { requiredKeys: [] }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.record({ data: list }), fc.jsonValue()), (body) => {
      let vectors: Float32Array;
      try {
        vectors = readEmbeddings(typeof body === "string" ? body : JSON.stringify(body), 2, 2);
      } catch (error) {
        expect(error).toBeInstanceOf(EmbedderError);
        return;
      }
      for (const at of [0, 2]) {
        const length = Math.hypot(vectors[at]!, vectors[at + 1]!);
        expect(Number.isNaN(length) || Math.abs(length - 1) < 1e-6).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("an endpoint that is away is embedder_unavailable, and closing ends what waits", async () => {
  const away = open();
  await new Promise((resolve) => server.close(resolve));
  const failure = away.embed("a");
  await expect(failure).rejects.toMatchObject({ code: "embedder_unavailable" });
  await expect(failure).rejects.toThrow(/can't be asked: .*ECONNREFUSED/);
  await away.close();
  await expect(away.embed("b")).rejects.toMatchObject({ code: "embedder_unavailable" });
});
