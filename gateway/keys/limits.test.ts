import { describe, expect, it } from "vitest";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Response } from "../../schemas/types.ts";
import type { Ask } from "../ask.ts";
import { ApiError } from "../errors.ts";
import { aResponse } from "../responses.testing.ts";
import { mostTokens, noSpendLimits, plainKey } from "./key.testing.ts";
import { createKeyLimits, type Limited } from "./limits.ts";

function limitsOf(limited: Partial<Limited>) {
  const state = { now: 0, gateways: 1, limited: plainKey(limited) };
  const limits = createKeyLimits(() => state.limited, {
    ...{ gateways: () => state.gateways, holdSpending: noSpendLimits, mostTokens, clock: () => state.now },
  });
  return { limits, state };
}
const params = { maxTokens: 30, temperature: null, topP: null, seed: null, stop: [] };
const request = plainRequest("list all files", { id: "r", params });
/** "list all files" in a turn, and the longest answer. */
const estimate = 4 + 5 + 30;
const options = { signal: new AbortController().signal };
const used =
  (prompt: number, completion: number, change: Partial<Response> = {}): Ask =>
  () =>
    Promise.resolve(aResponse({ usage: { ...aResponse().usage, prompt, completion }, ...change }));
const refused = (retryAfter: number): unknown =>
  expect.objectContaining({ status: 429, code: "rate_limit_exceeded", retryAfter });

describe("requests a minute", () => {
  it("are refused beyond the limit, with the time to wait", () => {
    const { limits, state } = limitsOf({ requestsPerMinute: 2 });
    limits.request();
    limits.request();
    expect(() => limits.request()).toThrow(refused(30));
    state.now = 30_000;
    limits.request();
  });
  it("are shared by the gateways that there are", () => {
    const { limits, state } = limitsOf({ requestsPerMinute: 8 });
    state.gateways = 4;
    limits.request();
    limits.request();
    expect(() => limits.request()).toThrow(refused(30));
    state.gateways = 1;
    state.now = 7_500;
    limits.request();
  });
  it("without a limit are never refused", () => {
    const { limits } = limitsOf({});
    for (let i = 0; i < 10_000; i++) limits.request();
  });
});

describe("tokens a minute", () => {
  it("are taken by estimate when requests start, so that concurrent ones cannot exceed the limit", async () => {
    const { limits } = limitsOf({ tokensPerMinute: 2 * estimate });
    const ask = limits.within(() => new Promise<Response>(() => undefined));
    void ask(request, options);
    void ask(request, options);
    await expect(ask(request, options)).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  });
  it("are set right by what was used, above and below", async () => {
    const { limits, state } = limitsOf({ tokensPerMinute: 600 });
    await limits.within(used(500, 400))(request, options);
    // 300 in debt.
    const wait = 30 + estimate / 10;
    await expect(limits.within(used(1, 1))(request, options)).rejects.toEqual(refused(Math.ceil(wait)));
    state.now = Math.ceil(wait) * 1_000;
    await limits.within(used(1, 1))(request, options);
  });
  it("cost nothing where nothing was sent, or the first response was copied", async () => {
    const { limits } = limitsOf({ tokensPerMinute: 100 });
    const away = limits.within(() => Promise.reject(new ApiError({ status: 503, code: "x", message: "x" })));
    for (let i = 0; i < 20; i++) await expect(away(request, options)).rejects.toMatchObject({ status: 503 });
    for (let i = 0; i < 20; i++) await limits.within(used(90, 90, { duplicate: true }))(request, options);
  });
  it("are at most a minute's worth by estimate, whatever a client says that it may need", async () => {
    const { limits, state } = limitsOf({ tokensPerMinute: 100 });
    const gone = new ApiError({ status: 499, code: "client_closed", message: "x" });
    const greedy = { ...request, params: { ...params, maxTokens: 2 ** 31 - 1 } };
    await expect(limits.within(() => Promise.reject(gone))(greedy, options)).rejects.toBe(gone);
    state.now = 60_000;
    await limits.within(used(1, 1))(greedy, options);
  });
  it("count what a client has read of a stream that it left", async () => {
    const { limits } = limitsOf({ tokensPerMinute: 1_000 });
    const gone = new ApiError({ status: 499, code: "client_closed", message: "x" });
    const read: string[] = [];
    const stream = limits.within((_request, { onDelta }) => {
      onDelta?.({
        requestId: "r",
        tenant: "default",
        attempt: 1,
        index: 0,
        text: "word ".repeat(1_400),
        calls: [],
        blocks: [],
        thoughts: null,
        createdAt: 0,
      });
      return Promise.reject(gone);
    });
    await expect(stream(request, { ...options, onDelta: ({ text }) => read.push(text) })).rejects.toBe(gone);
    expect(read).toHaveLength(1);
    await expect(limits.within(used(1, 1))(request, options)).rejects.toMatchObject({ status: 429 });
  });
  it("stay taken where the client has gone", async () => {
    const { limits } = limitsOf({ tokensPerMinute: estimate });
    const gone = new ApiError({ status: 499, code: "client_closed", message: "x" });
    await expect(limits.within(() => Promise.reject(gone))(request, options)).rejects.toBe(gone);
    await expect(limits.within(used(1, 1))(request, options)).rejects.toMatchObject({ status: 429 });
  });
});

describe("what is held of a spend limit", () => {
  it("is given back by what was answered or not sent, and not by what goes on", async () => {
    let held = 0;
    const limits = createKeyLimits(() => plainKey({ tokensPerMinute: estimate }), {
      ...{ gateways: () => 1, mostTokens, clock: () => 0 },
      holdSpending: () => {
        held++;
        return Promise.resolve(() => {
          held--;
        });
      },
    });
    const ends = async (ask: Ask): Promise<void> => {
      await limits
        .within(ask)(request, options)
        .catch(() => undefined);
    };
    await ends(used(0, 0));
    await ends(() => Promise.reject(new ApiError({ status: 503, code: "x", message: "x" })));
    expect(held).toBe(0);
    await ends(() => Promise.reject(new ApiError({ status: 504, code: "x", message: "x" })));
    expect(held).toBe(1);
    // No tokens are left in this minute.
    await ends(used(0, 0));
    expect(held).toBe(1);
  });
});
