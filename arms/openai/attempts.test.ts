// The calls of one request: which are made, what each may cost and has cost, and how long is
// waited for.
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ArmFailure } from "../arm.ts";
import {
  chunk,
  endpoint,
  good,
  type Handler,
  instantClock,
  never,
  request,
  status,
  stream,
} from "./endpoint.testing.ts";

const prices = { prompt: 1_000, completion: 10_000 };
const counted = { prompt_tokens: 100, completion_tokens: 10 };
/** 100 tokens at 0.001, 10 at 0.01. */
const charged = 0.2;
const cut: Handler = (_request, response) => {
  stream(response).write(chunk("Half an ans", null, counted));
  setTimeout(() => response.destroy(), 20);
};
const whole: Handler = (_request, response) =>
  void stream(response).end(chunk("Whole") + chunk(null, "stop", counted) + "data: [DONE]\n\n");
const first =
  (one: Handler, then: Handler): Handler =>
  (request, response, call) =>
    (call === 1 ? one : then)(request, response, call);

describe("an arm that another one can take over from", () => {
  const replaceable = () => ({ ...request(), replaceable: true });
  it.each([
    [500, {}, "endpoint_unavailable"],
    [503, {}, "endpoint_unavailable"],
    [429, {}, "rate_limited"],
    [401, {}, "endpoint_rejected"],
    [404, { code: "model_not_found" }, "endpoint_rejected"],
    [408, {}, "endpoint_timeout"],
  ])("is called once and waited for no more after %i", async (code, error, expected) => {
    const clock = instantClock();
    const { arm, received } = await endpoint((_request, response) => status(response, code, error), {}, clock);
    expect(await arm.answer(replaceable(), never())).toMatchObject({ code: expected, attempts: 1 });
    expect([received.length, clock.waits]).toEqual([1, []]);
  });
  it("is called again where a reader has the beginning of its answer, and only there", async () => {
    const { arm } = await endpoint(first(cut, whole));
    expect(await arm.answer(replaceable(), never(), () => undefined)).toMatchObject({ text: "Whole", attempts: 2 });
    const silent = await endpoint(first(cut, whole));
    expect(await silent.arm.answer(replaceable(), never())).toMatchObject({ code: "stream_cut", attempts: 1 });
  });
});

describe("a wait that the endpoint asks for", () => {
  it.each([
    ["retry-after", (at: number) => new Date(at).toUTCString()],
    ["retry-after", (at: number) => String(at / 1_000)],
    ["x-ratelimit-reset-requests", (at: number) => new Date(at).toISOString()],
  ])("until a time, in %s, is counted on the endpoint's clock", async (name, text) => {
    for (const skewMs of [-7_200_000, 7_200_000]) {
      const clock = instantClock();
      const there = Math.floor(clock.now() / 1_000) * 1_000 + skewMs;
      const busy: Handler = (_request, response) =>
        status(response, 429, {}, { date: new Date(there).toUTCString(), [name]: text(there + 20_000) });
      const { arm } = await endpoint(first(busy, whole), {}, clock);
      expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", attempts: 2 });
      expect(clock.waits[0]).toBeGreaterThanOrEqual(20_000);
      expect(clock.waits[0]).toBeLessThan(20_251);
    }
  });

  it.each([
    ["retry-after-ms", "1500", 1_500],
    ["x-ratelimit-reset-tokens", "2s", 2_000],
  ])("is that of %s", async (name, value, ms) => {
    const clock = instantClock();
    const busy: Handler = (_request, response) => status(response, 429, {}, { [name]: value });
    const { arm } = await endpoint(first(busy, good), {}, clock);
    expect(await arm.answer(request(), never())).toMatchObject({ kind: "answer", attempts: 2 });
    expect(clock.waits[0]).toBeGreaterThanOrEqual(ms);
    expect(clock.waits[0]).toBeLessThan(ms + 251);
  });
  it("of hours is a failure at once, which says how long", async () => {
    const { arm, received } = await endpoint((_request, response) =>
      status(response, 429, {}, { "retry-after": "7200" }),
    );
    const failure = await arm.answer(request({ deadlineMs: 86_000_000 }), never());
    expect(failure).toMatchObject({ code: "rate_limited", attempts: 1, retryAfterMs: 7_200_000 });
    expect(received).toHaveLength(1);
  });
});

describe("what calls cost", () => {
  it("is that of failed ones, too, where an answer had begun", async () => {
    const { arm } = await endpoint(first(cut, whole), { prices });
    expect(await arm.answer(request(), never())).toMatchObject({
      ...{ text: "Whole", attempts: 2, usage: { prompt: 100, completion: 10 } },
      cost: 2 * charged,
    });
  });
  it("is said of a request that fails, or is cancelled, in the middle", async () => {
    const failing = await endpoint(cut, { prices, retries: 1 });
    expect(await failing.arm.answer(request(), never())).toMatchObject({
      ...{ code: "stream_cut", attempts: 2, spent: { cost: 2 * charged, usage: { prompt: 100, completion: 10 } } },
    });
    const hanging = await endpoint((_request, response) => void stream(response).write(chunk("Half an answer")), {
      prices,
    });
    const controller = new AbortController();
    const cancelled = await hanging.arm.answer(request(), controller.signal, () => controller.abort());
    // Estimated, for no count has come.
    expect(cancelled).toMatchObject({ code: "cancelled", spent: { usage: { completion: 4 } } });
    expect((cancelled as ArmFailure).spent?.cost).toBeGreaterThan(4 * 0.01);
  });
  /** The endpoint has read the prompt: 16 estimated tokens; none of them were counted. */
  it.each<[string, Handler]>([
    ["after its head", (_request, response) => stream(response).flushHeaders()],
    [
      "after a role",
      (_request, response) => void stream(response).write('data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'),
    ],
    ["after a comment", (_request, response) => void stream(response).write(": waiting\n\n")],
    [
      "within a body",
      (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).write('{"id":'),
    ],
  ])("is the prompt's, estimated, of a stream cut %s", async (_where, begin) => {
    const cutEarly: Handler = (asked, response, call) => {
      begin(asked, response, call);
      setTimeout(() => response.destroy(), 20);
    };
    const failing = await endpoint(cutEarly, { prices, retries: 1 });
    const failure = (await failing.arm.answer(request(), never())) as ArmFailure;
    expect(failure).toMatchObject({ attempts: 2, spent: { calls: 2, usage: { completion: 0, estimated: true } } });
    const { prompt } = failure.spent!.usage;
    expect(prompt).toBeGreaterThan(0);
    expect(failure.spent!.cost).toBeCloseTo((2 * prompt * prices.prompt) / 1e6, 12);
    const { arm } = await endpoint(first(cutEarly, whole), { prices });
    const answer = await arm.answer(request(), never());
    expect(answer).toMatchObject({ text: "Whole", attempts: 2, spent: { calls: 1 } });
    expect(answer).toHaveProperty("cost", expect.closeTo(charged + (prompt * prices.prompt) / 1e6, 12));
  });
  it("is the prompt's of a request that is cancelled, or not answered in time, once an answer has begun", async () => {
    const silent: Handler = (_request, response) => stream(response).flushHeaders();
    const late = await endpoint(silent, { prices, retries: 0, timeoutMs: 100 });
    expect(await late.arm.answer(request(), never())).toMatchObject({
      ...{ code: "endpoint_timeout", spent: { calls: 1, usage: { completion: 0, estimated: true } } },
    });
    const page: Handler = (_request, response) => void response.end("<html></html>");
    const other = await endpoint(page, { prices, retries: 0 });
    expect(((await other.arm.answer(request(), never())) as ArmFailure).spent).toBeUndefined();
  });
  it("is nothing where no answer had begun", async () => {
    const { arm } = await endpoint((_request, response) => status(response, 500), { prices, retries: 1 });
    expect(((await arm.answer(request(), never())) as ArmFailure).spent).toBeUndefined();
  });
});

describe("allow.max_cost", () => {
  const within = (maxCost: number, maxTokens: number | null = 10) => ({
    ...request({ params: { maxTokens } }),
    maxCost,
  });
  it("is kept by the request that goes out: none does that may cost more", async () => {
    const { arm, received } = await endpoint(good, { prices, maxTokens: 3 });
    expect(await arm.answer(within(1, 101), never())).toMatchObject({
      ...{ code: "too_expensive", attempts: 0, retriable: false, param: "precedent.allow.max_cost" },
    });
    expect(received).toHaveLength(0);
    // The arm's own longest answer, where the request names none.
    expect(await arm.answer(within(0.2, null), never())).toMatchObject({ kind: "answer" });
  });
  it("is kept by all calls together, the last failure being the answer", async () => {
    const { arm, received } = await endpoint(cut, { prices });
    expect(await arm.answer(within(0.5), never())).toMatchObject({
      code: "stream_cut",
      attempts: 2,
      spent: { cost: 0.4 },
    });
    expect(received).toHaveLength(2);
  });
});

describe("an endpoint that is silent for longer than undici's 300 s", () => {
  afterEach(() => void vi.useRealTimers());
  /** So much time in steps, while sockets go on. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      vi.advanceTimersByTime(1_000);
      if (passed % 10_000 === 0) for (let i = 0; i < 3; i++) await turn();
    }
  }
  const silent: readonly [string, Handler, (response: Parameters<Handler>[1]) => void][] = [
    ["before its head", () => undefined, (response) => good(undefined as never, response, 1)],
    [
      "between two pieces",
      (_request, response) => void stream(response).write(chunk("Hel")),
      (response) => void response.end(chunk("lo") + chunk(null, "stop") + "data: [DONE]\n\n"),
    ],
  ];
  it.each(silent)("%s is waited for as long as timeoutMs says", async (_name, begin, end) => {
    let open: Parameters<Handler>[1] | undefined;
    const handler: Handler = (asked, response, call) => {
      open = response;
      begin(asked, response, call);
    };
    for (const [timeoutMs, expected] of [
      [900_000, "Hello"],
      [305_000, undefined],
    ] as const) {
      open = undefined;
      const { arm } = await endpoint(handler, { timeoutMs, retries: 0 });
      vi.useFakeTimers({
        toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
      });
      const answer = arm.answer(request({ deadlineMs: 86_000_000 }), never());
      while (open === undefined) await turn();
      for (let i = 0; i < 20; i++) await turn();
      await pass(310_000);
      end(open);
      expect(await answer).toMatchObject(expected === undefined ? { code: "endpoint_timeout" } : { text: expected });
      vi.useRealTimers();
    }
  });
});
