import { describe, expect, it } from "vitest";
import type { Arm, ArmFailure, ArmRequest, ArmResult } from "../../arms/arm.ts";
import type { Outcome } from "../../runtime/step.ts";
import type { Request, Work } from "../../schemas/types.ts";
import type { Called, Linked } from "../flow.ts";
import { aContext, aDecision, aRequest, NOW } from "../values.testing.ts";
import { createCall, type CallDependencies } from "./call.ts";
import type { Fallback } from "./fallback.ts";
import { anAnswer, aTaken } from "./values.testing.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

const answer = anAnswer({ text: "ls -a é", stopSequence: "END", attempts: 2, queueMs: 4 });
const failed = (code: string): ArmFailure => ({ kind: "failure", code, message: "why", attempts: 3, retriable: true });

interface Run {
  work?: Partial<Work>;
  request?: Partial<Request>;
  result?: ArmResult;
  /** Milliseconds after NOW at which the arm is called and returns. */
  at?: [number, number];
  aborted?: boolean;
  partitions?: number;
  fallback?: Fallback;
  redact?: CallDependencies["redact"];
}

async function run({
  work,
  request,
  result = answer,
  at = [30, 50],
  aborted = false,
  partitions,
  fallback,
  redact,
}: Run) {
  const calls: ArmRequest[] = [];
  const times = at.map((ms) => NOW + ms);
  const clock = (): number => times.shift() ?? NaN;
  const controller = new AbortController();
  const arm: Pick<Arm, "answer"> = {
    answer: (asked) => {
      calls.push(asked);
      if (aborted) controller.abort();
      return Promise.resolve(result);
    },
  };
  const taken = aTaken({ request: aRequest(request), ...work });
  const linked: Linked = { ...taken, prompt: { pieces: taken.record.pieces } };
  const call = createCall({
    arm,
    clock,
    fallback,
    redact,
    ...(partitions === undefined ? {} : { partitions: () => partitions }),
  });
  const outcome = await call(linked, { ...aContext(), signal: controller.signal });
  return { outcome, calls, linked };
}

const emits = (outcome: Outcome<Called>): Called["emits"] => (outcome.kind === "ok" ? outcome.value.emits : []);

describe("call", () => {
  it("sends a response as it is redacted, and no answer where that can't be told in time", async () => {
    const hidden = await run({ redact: (response) => Promise.resolve({ ...response, text: "<NAME_1>" }) });
    expect(emits(hidden.outcome)).toMatchObject([{ output: "responses", record: { status: "ok", text: "<NAME_1>" } }]);
    const { outcome } = await run({ redact: () => Promise.resolve(null) });
    expect(emits(outcome)).toMatchObject([
      {
        output: "responses",
        record: { status: "failed", text: "", attempt: 2, cost: answer.cost, error: { code: "not_redacted" } },
      },
    ]);
  });

  it("publishes the answer with its costs and times", async () => {
    const { outcome, calls, linked } = await run({ request: { account: "prk-1" } });
    expect(calls).toEqual([
      {
        ...{ requestId: "r1", tenant: linked.record.request.tenant, pieces: linked.prompt.pieces },
        ...{ params: linked.record.request.params, deadline: NOW + 120_000 },
        caching: { domain: linked.record.decision.domain, mayStore: true },
      },
    ]);
    expect(emits(outcome)).toEqual([
      {
        output: "responses",
        key: "r1",
        record: {
          requestId: "r1",
          tenant: "acme",
          domain: "acme/default",
          attempt: 2,
          status: "ok",
          text: "ls -a é",
          finishReason: "stop",
          stopSequence: "END",
          arm: "small",
          model: "small-1",
          failedArms: [],
          source: "generated",
          exampleIds: ["e1"],
          exampleTokens: 0,
          usage: { ...NO_USAGE, prompt: 30, cached: 10, prefilled: 20, completion: 5 },
          duplicate: false,
          cost: 0.25,
          failedCost: 0,
          billed: 1,
          savedCost: 0,
          account: "prk-1",
          timings: { plan: 10, queue: 24, firstToken: 39, total: 50 },
          error: null,
          passthrough: null,
          linkPolicy: null,
          degraded: ["embedder"],
          asked: false,
          alternative: null,
          createdAt: NOW + 50,
        },
      },
    ]);
  });

  it("answers on the partition the client reads, where there is such a partition", async () => {
    const to = async (replyPartition: number) =>
      emits((await run({ request: { replyPartition }, partitions: 8 })).outcome)[0]?.partition;
    expect([await to(5), await to(8), await to(-1)]).toEqual([5, undefined, undefined]);
  });

  it("publishes a failure that the arm could not get over, with its code", async () => {
    const [emit] = emits((await run({ result: failed("endpoint_unavailable") })).outcome);
    expect(emit?.record).toMatchObject({
      status: "failed",
      source: "none",
      attempt: 3,
      text: "",
      arm: "small",
      model: "small",
      cost: 0,
      timings: { plan: 10, queue: 20, firstToken: null, total: 50 },
      error: { code: "endpoint_unavailable", message: "why" },
      degraded: ["embedder"],
    });
  });

  it("refuses what is late before it is called, without calling", async () => {
    const { outcome, calls } = await run({ at: [120_000, 120_001] });
    expect(outcome).toMatchObject({ kind: "refuse", code: "deadline_exceeded" });
    expect(calls).toEqual([]);
  });

  it.each<[string, ArmResult, object]>([
    ["an answer", answer, { attempt: 2, cost: 0.25, usage: { ...answer.usage }, model: "small-1" }],
    ["a failure", failed("endpoint_timeout"), { attempt: 3, cost: 0, usage: { prompt: 0 }, model: "small" }],
  ])("refuses %s that comes late, with what it cost", async (_name, result, spent) => {
    const published = emits((await run({ at: [30, 120_000], result })).outcome);
    expect(published.map(({ output, key, record }) => ({ output, key, record }))).toMatchObject([
      {
        output: "responses",
        key: "r1",
        record: {
          ...spent,
          status: "refused",
          text: "",
          finishReason: null,
          stopSequence: null,
          source: "none",
          error: { code: "deadline_exceeded" },
          timings: { total: 120_000 },
        },
      },
    ]);
  });

  it("leaves the work to the next owner when the partition was lost", async () => {
    expect((await run({ result: failed("cancelled"), aborted: true })).outcome.kind).toBe("retryLater");
    expect((await run({ result: failed("model_failed"), aborted: true })).outcome.kind).toBe("retryLater");
  });

  describe("where another arm can take over", () => {
    const fallback: Fallback = {
      next: (_work, isTooLong) =>
        isTooLong === true ? undefined : { name: "large", examples: true, template: "chat-turns" },
      handOver: (work, { name }, { code, message, attempts, spent, ms }) => ({
        ...work,
        fallback: {
          arm: name,
          failed: [
            { arm: work.decision.arm, code, message, attempts, cost: spent?.cost ?? 0, billed: spent?.calls ?? 0, ms },
          ],
        },
      }),
    };

    it.each([
      "endpoint_refused",
      "endpoint_unavailable",
      "endpoint_timeout",
      "rate_limited",
      "stream_cut",
      "model_failed",
      "arm_broken",
    ])("gives it the work in place of the response after %s", async (code) => {
      const { outcome, calls } = await run({ result: failed(code), fallback });
      expect(calls[0]).toMatchObject({ replaceable: true });
      expect(emits(outcome)).toMatchObject([
        {
          output: "work",
          arm: "large",
          key: "r1",
          record: { fallback: { arm: "large", failed: [{ arm: "small", code }] } },
        },
      ]);
    });

    it.each<[string, Run]>([
      ["an answer", {}],
      ["a request that is refused", { result: failed("endpoint_rejected") }],
      ["a prompt too long for all", { result: failed("prompt_too_large") }],
      ["a request that is wrong", { result: { ...failed("request_rejected"), param: "tools" } }],
      ["an answer that the log lacks", { result: failed("not_recorded") }],
      ["the deadline of the request", { result: { ...failed("endpoint_timeout"), retriable: false } }],
      ["what comes late", { result: failed("endpoint_refused"), at: [30, 120_000] }],
    ])("keeps %s", async (_what, options) => {
      const { outcome } = await run({ ...options, fallback });
      expect(emits(outcome).map(({ output }) => output)).toEqual(["responses"]);
    });

    it("hands on a prompt that is too long where another context is longer", async () => {
      const longer: Fallback = {
        ...fallback,
        next: (_work, isTooLong) => ({
          name: isTooLong === true ? "long" : "large",
          examples: true,
          template: "chat-turns",
        }),
      };
      const { outcome } = await run({ result: failed("prompt_too_large"), fallback: longer });
      expect(emits(outcome)).toMatchObject([{ output: "work", arm: "long" }]);
    });

    it("gives nothing away of a partition that was lost", async () => {
      const { outcome } = await run({ result: failed("endpoint_refused"), aborted: true, fallback });
      expect(outcome.kind).toBe("retryLater");
    });

    it("answers as that arm, with the attempts of those that failed", async () => {
      const before = { arm: "first", code: "endpoint_refused", message: "", attempts: 3, cost: 0.5, billed: 1, ms: 0 };
      const [emit] = emits((await run({ work: { fallback: { arm: "small", failed: [before] } } })).outcome);
      expect(emit?.record).toMatchObject({
        ...{ status: "ok", arm: "small", attempt: 5, failedArms: [before], degraded: ["embedder", "fallback"] },
      });
    });
  });
});

describe("what calls cost", () => {
  const usage = { ...NO_USAGE, prompt: 30, prefilled: 30, completion: 7 };
  const spent = { usage, cost: 0.5, calls: 2 };
  const before = { arm: "first", code: "stream_cut", message: "", attempts: 3, cost: 0.125, billed: 1, ms: 0 };
  const allow = { arms: null, maxCost: 1, deadlineMs: null, costWeight: null };
  const fallback = { arm: "small", failed: [before] };

  it("is that of arms that failed before, too, in the response and of what may be spent", async () => {
    const { outcome, calls } = await run({ request: { allow }, work: { fallback } });
    expect(calls[0]).toMatchObject({ maxCost: 0.875 });
    expect(emits(outcome)).toMatchObject([
      { record: { status: "ok", cost: answer.cost + 0.125, failedCost: 0.125, billed: 2 } },
    ]);
    expect((await run({})).calls[0]).not.toHaveProperty("maxCost");
  });

  it("is booked where none answers, and where the deadline ends it", async () => {
    const result = { ...failed("stream_cut"), spent };
    const failure = await run({ result, work: { fallback } });
    expect(emits(failure.outcome)).toMatchObject([
      { record: { status: "failed", cost: 0.625, failedCost: 0.625, billed: 3, usage } },
    ]);
    const late = await run({ result, at: [30, 120_001] });
    expect(emits(late.outcome)).toMatchObject([
      { record: { status: "refused", cost: 0.5, failedCost: 0.5, billed: 2, usage } },
    ]);
  });

  it("tells the client which member of its request is wrong, and when to come back", async () => {
    const result = { ...failed("request_rejected"), param: "tools", retryAfterMs: 20 };
    const [emit] = emits((await run({ result })).outcome);
    expect(emit?.record).toMatchObject({ error: { code: "request_rejected", param: "tools", retryAfterMs: 20 } });
  });
});

describe("call, for a request that is taken back", () => {
  async function cancelled(before: boolean, result: ArmResult, aborted = false) {
    const taken = aTaken();
    const stage = new AbortController();
    let calls = 0;
    let isCancelled = before;
    let ended = 0;
    const ending = new AbortController();
    const call = createCall({
      arm: {
        answer: (_asked, signal) => {
          calls++;
          isCancelled = true;
          ending.abort();
          if (aborted) stage.abort();
          expect(signal.aborted).toBe(true);
          return Promise.resolve(result);
        },
      },
      cancels: () => ({ signal: ending.signal, isCancelled: () => isCancelled, end: () => (ended += 1) }),
      fallback: { next: () => ({ name: "other" }) as never, handOver: () => expect.fail() },
      clock: () => NOW + 30,
    });
    const outcome = await call({ ...taken, prompt: { pieces: [] } }, { ...aContext(), signal: stage.signal });
    expect(ended).toBe(1);
    return { outcome, calls };
  }

  it("does not call the arm, or ends its call: the response is failed, cancelled", async () => {
    const early = await cancelled(true, failed("cancelled"));
    const during = await cancelled(false, failed("endpoint_unavailable"));
    expect([early.calls, during.calls]).toEqual([0, 1]);
    for (const [one, attempt] of [
      [early, 0],
      [during, 3],
    ] as const)
      expect(emits(one.outcome)).toMatchObject([
        { output: "responses", record: { status: "failed", attempt, error: { code: "cancelled" } } },
      ]);
  });

  it("gives the answer that came all the same, and leaves a lost partition's work to its next owner", async () => {
    expect(emits((await cancelled(false, answer)).outcome)).toMatchObject([{ record: { status: "ok" } }]);
    expect((await cancelled(false, failed("cancelled"), true)).outcome.kind).toBe("retryLater");
  });

  describe("of an alternative answer", () => {
    const decision = aDecision({ asked: true, alternativeArm: "large", alternative: true });
    const alternative: Run = { work: { decision, role: "alternative", cacheKey: "5f" } };

    it("publishes it to alternative-answers alone, as the alternative arm's, with no reply and no cache entry", async () => {
      const request = { account: "prk-1", replyPartition: 2, deltas: true };
      const { outcome } = await run({ ...alternative, request, partitions: 4 });
      expect(emits(outcome)).toMatchObject([
        {
          ...{ output: "alternative-answers", key: "r1" },
          record: { arm: "large", status: "ok", account: null, asked: false, alternative: null },
        },
      ]);
      expect(emits(outcome)[0]).not.toHaveProperty("partition");
    });

    it("has no other arm take over, and is late where it is late", async () => {
      const fallback: Fallback = {
        next: () => ({ name: "other", examples: true, template: "chat-turns" }),
        handOver: (work) => work,
      };
      const failure = await run({ ...alternative, fallback, result: failed("endpoint_unavailable") });
      expect(emits(failure.outcome)).toMatchObject([
        { output: "alternative-answers", record: { status: "failed", arm: "large", failedArms: [] } },
      ]);
      expect(failure.calls[0]).not.toHaveProperty("replaceable");
      const late = await run({ ...alternative, at: [30, 120_001] });
      expect(emits(late.outcome)).toMatchObject([
        { output: "alternative-answers", record: { status: "refused", error: { code: "deadline_exceeded" } } },
      ]);
    });

    it("is announced by the first answer, and not by what is none", async () => {
      const first: Run = { work: { decision } };
      expect(emits((await run(first)).outcome)).toMatchObject([
        { output: "responses", record: { asked: true, alternative: "large" } },
      ]);
      const without = { ...first, work: { decision: { ...decision, alternative: false } } };
      expect(emits((await run(without)).outcome)).toMatchObject([{ record: { asked: true, alternative: null } }]);
      for (const change of [{ result: failed("endpoint_rejected") }, { at: [30, 120_001] as [number, number] }])
        expect(emits((await run({ ...first, ...change })).outcome)).toMatchObject([
          { record: { asked: false, alternative: null } },
        ]);
    });
  });
});
