import pino from "pino";
import { expect, it } from "vitest";
import { configSchema } from "../../config/schema.ts";
import type { Conversation } from "../../gateway/conversation.ts";
import { createExampleActs, type ExampleActsDependencies } from "./page-examples.ts";

const stored = { tenant: "t", domain: "t/default", arm: "large", model: "m", requestId: "r" };

/** A pool that has the example "old", as ClickHouse sees it: what is published comes later. */
function opened(response: object = {}) {
  const published: { key: string; value: unknown }[] = [];
  const session = {
    config: configSchema.parse({
      arms: [{ name: "large", type: "recorded", model: "m", file: "none.jsonl", cost: 1 }],
    }),
    kafka: {
      spans: () => Promise.resolve([{ partition: 0 }]),
      partitionOf: () => 0,
      plainProducer: () => ({
        send: (messages: typeof published) => Promise.resolve(void published.push(...messages)),
        close: () => Promise.resolve(),
      }),
    },
    codec: { encode: (_name: string, value: unknown) => value },
    text: { redact: (texts: string[]) => Promise.resolve(texts), mask: (items: { text: string }[]) => Promise.resolve(items.map(({ text }) => text)) }, // prettier-ignore
    topic: (name: string) => name,
    log: pino({ level: "silent" }),
  };
  const acts = createExampleActs({
    session: session as unknown as ExampleActsDependencies["session"],
    clickhouse: {
      query: <R>(_sql: string, parameters?: Record<string, unknown>) =>
        Promise.resolve((parameters?.["id"] === "old" ? [stored] : []) as R[]),
    },
    embedder: () => Promise.resolve({ model: "e", embed: () => Promise.resolve(new Float32Array(4)) } as never),
    find: () =>
      Promise.resolve({
        request: { domain: "t/default", messages: [{ role: "user", content: "why?" }], documents: [], privacy: { cache: true, share: true } }, // prettier-ignore
        response: { status: "ok", source: "generated", text: "because", finishReason: "stop", arm: "large", model: "m", ...response }, // prettier-ignore
      } as unknown as Conversation),
  });
  return { acts, states: () => published.filter(({ value }) => value !== null).length };
}

const edit = { id: "old", request: "what?", response: "this" };

it("lets one of several acts at once take an example away", async () => {
  const { acts, states } = opened();
  const done = await Promise.allSettled([
    acts.edit(edit),
    acts.edit({ ...edit, response: "that" }),
    acts.remove("old"),
  ]);
  expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  await expect(acts.edit({ ...edit, response: "later" })).rejects.toThrow("The example old no longer exists");
  expect(states()).toBe(1);
});

it("lets one that failed be repeated", async () => {
  const { acts, states } = opened();
  await expect(acts.edit({ ...edit, response: " " })).rejects.toThrow("can't be an example");
  await expect(acts.remove("unknown")).rejects.toThrow("The example unknown no longer exists");
  await acts.edit(edit);
  expect(states()).toBe(1);
});

it.each(["cache", "reuse"])("keeps no answer from the %s: it repeats another one", async (source) => {
  const { acts, states } = opened({ source });
  await expect(acts.keep("r", "t")).rejects.toThrow("repeats another answer");
  expect(states()).toBe(0);
});

it("keeps an arm's answer, and none that is no answer or was cut off", async () => {
  const { acts, states } = opened();
  await acts.keep("r", "t");
  expect(states()).toBe(1);
  for (const wrong of [{ status: "failed" }, { finishReason: "length" }, { text: "" }])
    await expect(opened(wrong).acts.keep("r", "t")).rejects.toThrow(/no answer to keep|can't be an example/);
});
