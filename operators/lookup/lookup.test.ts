import { describe, expect, it } from "vitest";
import type { Request } from "../../schemas/types.ts";
import { aContext, NOW, validated } from "../values.testing.ts";
import { createLookup, type CacheLookup, type CacheResult, type LookupDependencies } from "./lookup.ts";
import type { CachedAnswer } from "../../state/response-cache/entries.ts";

const answer: CachedAnswer = {
  ...{
    requestId: "first",
    text: "ls -a",
    finishReason: "stop",
    stopSequence: "END",
    arm: "small",
    model: "m",
    cost: 0.25,
  },
};
const arm = { name: "small", model: "m", template: "chat-turns" as const };

function lookupWith(change: Partial<CacheLookup> = {}, dependencies: Partial<LookupDependencies> = {}) {
  const asked: string[] = [];
  const results: [CacheResult, number][] = [];
  const lookup = createLookup({
    responseCache: {
      entries: { find: (key) => (asked.push(key), undefined), peek: () => undefined },
      underWay: { follows: () => false, follow: () => Promise.resolve({ kind: "leads" }) },
      ttlMs: () => 1_000,
      sampled: false,
      onResult: (...one) => results.push(one),
      ...change,
    },
    arms: () => [arm],
    documents: { get: () => undefined },
    clock: () => NOW + 20,
    partitions: () => 8,
    ...dependencies,
  });
  return { lookup, asked, results };
}
const privacy = (change: Partial<Request["privacy"]>): Partial<Request> => ({
  privacy: { cache: true, share: true, fresh: false, ...change },
});
const params = (change: Partial<Request["params"]>): Partial<Request> => ({
  params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [], ...change },
});

describe("an exact repeat", () => {
  it("gets the cached answer: a decision of the cache, and a response that cost nothing", () => {
    const { lookup, results } = lookupWith({ entries: { find: () => answer, peek: () => answer } });
    const outcome = lookup(validated({ id: "second", replyPartition: 3 }), aContext());
    expect(outcome).toMatchObject({
      kind: "finish",
      emits: [
        {
          output: "decisions",
          key: "second",
          record: { source: "cache", probability: 1, arm: "small", arms: [], featureVersion: 0, degraded: [] },
        },
        {
          output: "responses",
          key: "second",
          partition: 3,
          record: {
            status: "ok",
            text: "ls -a",
            stopSequence: "END",
            source: "cache",
            cost: 0,
            savedCost: 0.25,
            attempt: 0,
          },
        },
      ],
    });
    expect(results).toEqual([["hit", 0.25]]);
  });

  it("waits for the answer to the same request under way, and goes on when it is to lead", async () => {
    const follows = { follows: () => true, follow: () => Promise.resolve({ kind: "answer" as const, answer }) };
    const { lookup } = lookupWith({ underWay: follows });
    const outcome = lookup(validated(), aContext());
    if (outcome.kind !== "elsewhere") throw new Error(outcome.kind);
    expect(await outcome.go()).toMatchObject({ kind: "finish" });
    expect(outcome.full()).toMatchObject({ kind: "ok", value: { cacheKey: { documents: "" } } });
    const leads = lookupWith({ underWay: { ...follows, follow: () => Promise.resolve({ kind: "leads" }) } });
    const other = leads.lookup(validated(), aContext());
    if (other.kind !== "elsewhere") throw new Error(other.kind);
    expect(await other.go()).toMatchObject({ kind: "ok", value: { cacheKey: {} } });
  });
});

describe("what is neither kept nor given", () => {
  it.each([
    ["cache: false", privacy({ cache: false })],
    ["share: false", privacy({ share: false })],
    ["a temperature without a seed", params({ temperature: 0.7 })],
    ["a document that is not there", { documents: ["d1"] }],
    ["what is passed on as it is", { passthrough: "{}", requires: ["parameters"] }],
  ])("%s", (_what, request) => {
    const { lookup, asked, results } = lookupWith();
    expect(lookup(validated(request), aContext())).toMatchObject({ kind: "ok", value: { cacheKey: undefined } });
    expect(asked).toEqual([]);
    expect(results).toEqual([["excluded", 0]]);
  });

  it("a domain without a time to keep answers", () => {
    const { lookup, asked } = lookupWith({ ttlMs: () => 0 });
    expect(lookup(validated(), aContext())).toMatchObject({ kind: "ok", value: { cacheKey: undefined } });
    expect(asked).toEqual([]);
  });

  it("a request that wants a fresh answer is given none, and its own is kept", () => {
    const { lookup, asked } = lookupWith();
    expect(lookup(validated(privacy({ fresh: true })), aContext())).toMatchObject({
      kind: "ok",
      value: { cacheKey: {} },
    });
    expect(asked).toEqual([]);
  });

  it("with a seed, at temperature 0, or where the configuration says so, a temperature is no hindrance", () => {
    const { lookup, asked } = lookupWith();
    lookup(validated(params({ temperature: 0.7, seed: 1 })), aContext());
    lookup(validated(params({ temperature: 0 })), aContext());
    const sampled = lookupWith({ sampled: true });
    sampled.lookup(validated(params({ temperature: 0.7 })), aContext());
    expect([asked.length, sampled.asked.length]).toEqual([2, 1]);
  });

  it("a document put again makes another question of it", () => {
    const texts = ["one", "one", "two"];
    const get = () => ({ tenant: "acme", id: "d1", title: null, pieces: [texts.shift() ?? ""] });
    const { lookup, asked } = lookupWith({}, { documents: { get } });
    for (let i = 0; i < 3; i++) lookup(validated({ documents: ["d1"] }), aContext());
    expect(asked[0]).toBe(asked[1]);
    expect(asked[2]).not.toBe(asked[0]);
  });
});
