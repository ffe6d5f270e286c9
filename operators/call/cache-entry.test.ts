import { describe, expect, it } from "vitest";
import type { Response } from "../../schemas/types.ts";
import { aDecision } from "../values.testing.ts";
import { createCacheEntry } from "./cache-entry.ts";
import { answeredResponse } from "./response.ts";
import { anAnswer, aWork } from "./values.testing.ts";

const work = aWork({ cacheKey: "h", decision: aDecision() });
const times = { called: 1_000, finished: 2_000 };
const response = (change: Partial<Response> = {}): Response => ({
  ...answeredResponse(work, "r1", anAnswer(), times),
  ...change,
});
const createEntry = (isClean = () => Promise.resolve(true), maxBytes = 1_000) =>
  createCacheEntry({ ttlMs: (domain) => (domain === "acme/default" ? 500 : 0), maxBytes, isClean });

describe("keep", () => {
  it("keeps an answer under its domain and key, until its time is over", async () => {
    expect(await createEntry()(work, response({ stopSequence: "END" }))).toEqual([
      {
        output: "response-cache",
        key: "acme/default/h",
        record: {
          ...{
            tenant: "acme",
            domain: "acme/default",
            hash: "h",
            requestId: "r1",
            text: "ls -a",
            finishReason: "stop",
            stopSequence: "END",
          },
          ...{ arm: "small", model: "small-1", cost: 0.25, bytes: 19, expiresAt: 2_500, createdAt: 2_000 },
        },
      },
    ]);
  });

  it.each([
    ["without a key", { ...work, cacheKey: null }, {}],
    ["of a domain that keeps none", { ...work, decision: aDecision({ domain: "acme/other" }) }, {}],
    ["that failed", work, { status: "failed" as const }],
    ["that was cut short by a filter", work, { finishReason: "content_filter" }],
    ["that is empty", work, { text: "" }],
    ["made of less than there is", work, { degraded: ["embedder"] }],
    [
      "of an arm that took over",
      work,
      { failedArms: [{ arm: "large", code: "endpoint_timeout", message: "", attempts: 1, cost: 0, billed: 1, ms: 0 }] },
    ],
    ["that is too large", work, { text: "x".repeat(1_001) }],
  ])("keeps nothing %s", async (_what, done, change) => {
    expect(await createEntry()(done, response(change))).toEqual([]);
  });

  it("keeps nothing in which personal data is found", async () => {
    expect(await createEntry(() => Promise.resolve(false))(work, response())).toEqual([]);
  });
});
