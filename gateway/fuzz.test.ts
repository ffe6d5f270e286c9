// 10,000 bodies, each a mutation of one that is right, at every address that takes a body: every
// one is answered or refused in OpenAI's format, never by a 500, and what is produced can be
// encoded and passes plan's own checks or is refused there.
import fc from "fast-check";
import pino from "pino";
import { expect, it } from "vitest";
import avro, { type Schema } from "avsc";
import { readFileSync } from "node:fs";
import type { Feedback, Request } from "../schemas/types.ts";
import { addAccess } from "./access.ts";
import { localCaller } from "./local.ts";
import { addChat } from "./routes/chat.ts";
import { addEmbeddings } from "./routes/embeddings.ts";
import { addFeedback } from "./routes/feedback.ts";
import { addMessages } from "./routes/messages.ts";
import { addResponses } from "./routes/responses.ts";
import { createConnectionLimit } from "./connection-limit.ts";
import { aResponse } from "./responses.testing.ts";
import { createServer } from "./server.ts";

const schema = (name: string) =>
  avro.Type.forSchema(
    JSON.parse(readFileSync(new URL(`../schemas/avro/${name}.avsc`, import.meta.url), "utf8")) as Schema,
  );

function setUp() {
  const failures: unknown[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void failures.push(line) });
  const server = createServer({ maxBodyBytes: 262_144, slowReaderMs: 60_000, log });
  const callerOf = addAccess(server, { callerOf: localCaller, mustBeAdmin: localCaller, feedbackBy: localCaller });
  const connectionLimit = createConnectionLimit(64);
  const types = { requests: schema("request"), feedback: schema("feedback") };
  const encode = (name: string, record: Request | Feedback) => types[name as keyof typeof types].toBuffer(record);
  let asked = 0;
  const askWith = (tool: object) => (request: Request & { id: string }) => {
    encode("requests", request);
    asked++;
    const passthrough = asked % 3 === 0 ? JSON.stringify({ message: { tool_calls: [tool] } }) : null;
    return Promise.resolve(aResponse({ requestId: request.id, tenant: request.tenant, passthrough }));
  };
  const answering = {
    ...{ callerOf, clock: Date.now, streams: { heartbeatMs: 60_000, slowReaderMs: 60_000 } },
    arms: () => [
      { name: "small", model: "small-1" },
      { name: "large", model: "large-1", capabilities: ["tools", "vision", "parameters"] as const },
    ],
    ask: askWith({ id: "c" }),
  };
  addChat(server, answering);
  addResponses(server, { ...answering, clickhouse: { query: () => Promise.resolve([]) } });
  // A call without a function is a failure of the model in this format.
  addMessages(server, { ...answering, ask: askWith(call) });
  addFeedback(server, {
    clickhouse: { query: () => Promise.resolve([]) },
    ...{ callerOf, connectionLimit, clock: Date.now, send: () => Promise.resolve(), topic: "feedback" as never },
    codec: { encode: (name, record) => encode(name, record as Feedback) },
  });
  const embedder = { model: "mini", dimension: 2, embed: () => Promise.resolve(new Float32Array(2)) };
  addEmbeddings(server, { callerOf, connectionLimit, embedder: () => Promise.resolve(embedder) });
  return { server, failures, connectionLimit, asked: () => asked };
}

const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const right: readonly (readonly [string, unknown])[] = [
  [
    "/v1/chat/completions",
    {
      ...{ model: "auto", temperature: 0.5, top_p: 1, seed: 7, stop: ["x"], max_tokens: 9, stream: false, user: "u" },
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "hi" }] },
      ],
      ...{ metadata: { a: "b" }, stream_options: { include_usage: true } },
      precedent: { domain: "d", documents: [], allow: { max_cost: 1, deadline_ms: 9 }, privacy: { cache: true } },
    },
  ],
  [
    "/v1/chat/completions",
    {
      ...{ model: "large", stream: true, logprobs: true, top_logprobs: 2, tool_choice: "auto", n: 1 },
      messages: [
        { role: "user", content: [{ type: "image_url", image_url: { url: "data:x" } }] },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "c1", content: "12" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
      response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } },
    },
  ],
  [
    "/v1/responses",
    {
      ...{ model: "small", instructions: "x", max_output_tokens: 5, stream: true, store: false },
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
      text: { format: { type: "text" } },
    },
  ],
  [
    "/v1/messages",
    {
      ...{ model: "large", max_tokens: 9, system: [{ type: "text", text: "x" }], stream: true, top_k: 3 },
      messages: [
        { role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } }] },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input: { a: [1] } }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "12" }] }],
        },
      ],
      ...{ tools: [{ name: "f", input_schema: {} }], tool_choice: { type: "tool", name: "f" }, stop_sequences: ["x"] },
      ...{ metadata: { user_id: "u" }, output_config: { format: { type: "json_schema", schema: {} } } },
    },
  ],
  ["/v1/messages/count_tokens", { model: "auto", system: "x", messages: [{ role: "user", content: "hi" }] }],
  [
    "/v1/responses",
    {
      ...{ model: "large", tool_choice: { type: "function", name: "f" }, reasoning: { effort: "low" } },
      tools: [{ type: "function", name: "f", parameters: { type: "object" }, strict: true }],
      input: [
        { role: "user", content: [{ type: "input_image", image_url: "data:x" }] },
        { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "12" },
      ],
      text: { format: { type: "json_schema", name: "a", schema: {} }, verbosity: "low" },
    },
  ],
  ["/v1/feedback", { request_id: "r1", kind: "score", value: 3, range: { low: 0, high: 5 }, comment: "so", id: "f1" }],
  ["/v1/embeddings", { model: "mini", input: ["a", "b"], encoding_format: "base64", dimensions: 2 }],
];

/** Every place in a value, as the keys that lead there. */
function connectionLimit(value: unknown, path: string[] = []): string[][] {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [path, ...inner.flatMap(([key, one]) => connectionLimit(one, [...path, key]))];
}

type Change = { at: number; how: "replace" | "remove" | "add" | "double"; value: unknown; key: string };

function mutated(body: unknown, { at, how, value, key }: Change): unknown {
  const all = connectionLimit(body);
  const path = all[at % all.length] ?? [];
  const go = (here: unknown, [next, ...rest]: string[]): unknown => {
    if (next === undefined) {
      if (how === "double") return [here, here];
      const isObject = typeof here === "object" && here !== null && !Array.isArray(here);
      return how === "add" && isObject ? Object.fromEntries([...Object.entries(here), [key, value]]) : value;
    }
    const entries = Object.entries(here as Record<string, unknown>).flatMap(([name, one]) => {
      if (name !== next) return [[name, one] as const];
      return how === "remove" && rest.length === 0 ? [] : [[name, go(one, rest)] as const];
    });
    if (Array.isArray(here)) return entries.map(([, one]) => one);
    return Object.fromEntries<unknown>(entries);
  };
  return go(body, path);
}

const keys = ["__proto__", "constructor", "n", "tools", "messages", "type", "role", "stream", "precedent", "toString"];
const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, "", "\ud800", -0, 1e308, 2 ** 53, -1, 0.5, [], {}, "tool", "image_url", [[]]),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
);
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(200),
  how: fc.constantFrom<Change["how"]>("replace", "replace", "remove", "add", "double"),
  value,
  key: fc.constantFrom(...keys),
});

/** npm run soak sends all of them, npm test the first quarter. */
const count = process.env.PRECEDENT_FULL_COUNTS === undefined ? 2_500 : 10_000;

it(`${count} mutated bodies: no 500, no crash, and nothing is held afterwards`, { timeout: 300_000 }, async () => {
  const { server, failures, connectionLimit: held, asked } = setUp();
  const bodies = fc.sample(
    fc.tuple(fc.nat(right.length - 1), fc.array(change, { minLength: 1, maxLength: 3 }), fc.nat(12)),
    { numRuns: count, seed: 1_616 },
  );
  const statuses = new Map<number, number>();
  for (const [which, changes, cut] of bodies) {
    const [url, body] = right[which] ?? ["", {}];
    const whole = JSON.stringify(changes.reduce(mutated, body)) ?? "";
    const payload = cut === 0 ? whole.slice(0, whole.length / 2) : whole;
    const answer = await server.inject({
      ...{ method: "POST", url, payload, headers: { "content-type": "application/json", host: "localhost" } },
    });
    statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
    expect(answer.statusCode, payload).toBeLessThan(500);
    if (answer.statusCode >= 400) expect(answer.json(), payload).toMatchObject({ error: { code: expect.any(String) } });
  }
  expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBe(count);
  // It reaches both sides of every check.
  expect(statuses.get(400)).toBeGreaterThan(count / 5);
  expect(statuses.get(200)).toBeGreaterThan(count / 20);
  expect(asked()).toBeGreaterThan(count / 20);
  expect(failures).toEqual([]);
  expect(held.open()).toBe(0);
  await server.close();
});
