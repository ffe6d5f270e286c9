// The breaker of an arm by what its calls end in, and what plan may choose by what all processes
// say.
import pino from "pino";
import { describe, expect, it } from "vitest";
import type { ArmFailure, ArmRequest, ArmResult } from "../../arms/arm.ts";
import type { BreakerState } from "../../algorithms/queueing/breaker.ts";
import { configSchema } from "../../config/schema.ts";
import { breakerSettings, createBreakers, verdictOf } from "./breakers.ts";

const failed = (code: string, more: Partial<ArmFailure> = {}): ArmFailure => ({
  ...{ kind: "failure", code, message: "", attempts: 1, retriable: true, ...more },
});
const answered = { kind: "answer" } as ArmResult;
const settings = breakerSettings(
  configSchema.parse({ arms: [{ name: "a", type: "recorded", file: "f" }] }).routing.breaker,
);
const request = { requestId: "r", tenant: "t", pieces: [], deadline: 0 } as unknown as ArmRequest;

function setUp() {
  let now = 0;
  let result: ArmResult = answered;
  let calls = 0;
  const others: BreakerState[] = [];
  const changes: string[] = [];
  const breakers = createBreakers({
    ...{ settings, clock: () => now, random: () => 0, log: pino({ level: "silent" }) },
    others: () => others.map((state) => ({ state })),
    metrics: { changed: (arm, to) => void changes.push(`${arm} ${to}`) },
  });
  const arm = breakers.guard("a", {
    answer: () => {
      calls++;
      return Promise.resolve(result);
    },
  });
  return {
    ...{ breakers, others, changes, calls: () => calls },
    pass: (ms: number) => void (now += ms),
    async ask(next: ArmResult, more: Partial<ArmRequest> = {}, times = 1): Promise<ArmResult> {
      result = next;
      let last = next;
      for (let i = 0; i < times; i++) last = await arm.answer({ ...request, ...more }, new AbortController().signal);
      return last;
    },
  };
}

describe("verdicts", () => {
  it.each<[string, ArmResult, number, string]>([
    ["an answer", answered, 1, "success"],
    ["no connection", failed("endpoint_refused"), 1, "failure"],
    ["429 of the endpoint", failed("rate_limited"), 1, "failure"],
    ["our own limit of requests a minute", failed("rate_limited", { attempts: 0 }), 1, "ignored"],
    ["a timeout of the arm", failed("endpoint_timeout"), 1, "failure"],
    ["a short deadline", failed("endpoint_timeout", { retriable: false }), 29_999, "ignored"],
    ["a deadline that left it time", failed("endpoint_timeout", { retriable: false }), 30_000, "failure"],
    ["a request that it refuses", failed("request_rejected", { retriable: false, param: "tools" }), 1, "ignored"],
    ["a bound of its cost", failed("too_expensive", { retriable: false }), 1, "ignored"],
    ["a wrong key", failed("endpoint_rejected", { retriable: false, unhealthy: true }), 1, "failure"],
    ["a prompt too long", failed("prompt_too_large", { retriable: false }), 1, "ignored"],
    ["a log without the answer", failed("not_recorded", { retriable: false }), 1, "ignored"],
    ["cancelled", failed("cancelled"), 1, "ignored"],
  ])("%s", (_what, result, ms, verdict) => expect(verdictOf(result, ms, settings.slowCallMs)).toBe(verdict));
});

describe("a guarded arm", () => {
  it("is not called while its breaker is open, but for requests that no other arm can answer", async () => {
    const { ask, breakers, calls, changes, pass } = setUp();
    await ask(failed("endpoint_unavailable"), {}, 5);
    expect(breakers.state("a")).toBe("open");
    expect(await ask(answered, { replaceable: true })).toMatchObject({ code: "arm_broken", attempts: 0 });
    expect(calls()).toBe(5);
    expect(await ask(answered)).toBe(answered);
    expect([calls(), breakers.state("a")]).toEqual([6, "open"]);
    pass(5_000);
    await ask(answered, { replaceable: true }, 2);
    expect([calls(), breakers.state("a")]).toEqual([8, "closed"]);
    expect(changes).toEqual(["a open", "a half-open", "a closed"]);
  });

  it("is called whatever requests it refuses", async () => {
    const { ask, breakers } = setUp();
    await ask(failed("endpoint_rejected"), { replaceable: true }, 100);
    expect(breakers.state("a")).toBe("closed");
  });

  it("that throws gives its turn back, and nothing is said of it", async () => {
    const { ask, breakers, pass } = setUp();
    const throwing = breakers.guard("a", { answer: () => Promise.reject(new Error("bug")) });
    await ask(failed("endpoint_unavailable"), {}, 5);
    pass(5_000);
    for (let i = 0; i < 5; i++)
      await expect(throwing.answer({ ...request, replaceable: true }, new AbortController().signal)).rejects.toThrow();
    expect(breakers.state("a")).toBe("half-open");
  });
});

describe("what plan may choose", () => {
  it("is closed for an arm that no process has called, and for one that answers any process", async () => {
    const { ask, breakers, others } = setUp();
    expect(breakers.state("a")).toBe("closed");
    others.push("open");
    expect(breakers.state("a")).toBe("open");
    others.push("closed");
    expect(breakers.state("a")).toBe("closed");
    others.length = 1;
    await ask(answered);
    expect(breakers.state("a")).toBe("closed");
    expect([...breakers.own()]).toEqual([["a", { state: "closed", replicas: [] }]]);
  });

  it("says how the replicas of a called arm are, where there are several or one reports its load", async () => {
    const { breakers } = setUp();
    const engine = { running: 3, waiting: 1, cacheUsage: 0.123 };
    const replica = { name: "http://a/v1", calls: 2, load: 4, breaker: "open" as const, engine };
    const named = { name: "http://a/v1", state: "open", calls: 2, running: 3, waiting: 1, cacheUsage: 0.12 };
    const guarded = (
      name: string,
      ...replicas: (typeof replica | (Omit<typeof replica, "engine"> & { engine: undefined }))[]
    ) => breakers.guard(name, { answer: () => Promise.resolve(answered), replicas: () => replicas });
    const silent = { ...replica, engine: undefined };
    const arms = [guarded("reported", replica), guarded("pair", silent, replica), guarded("single", silent), guarded("idle", replica)]; // prettier-ignore
    await Promise.all(arms.slice(0, 3).map((arm) => arm.answer(request, new AbortController().signal)));
    expect([...breakers.own()].map(([arm, { replicas }]) => [arm, replicas])).toEqual([
      ["reported", [named]],
      ["pair", [{ ...named, running: null, waiting: null, cacheUsage: null }, named]],
      ["single", []],
    ]);
  });

  it("has its word for half a minute after its last call", async () => {
    const { ask, breakers, others, pass } = setUp();
    others.push("open");
    await ask(answered);
    pass(29_999);
    expect(breakers.state("a")).toBe("closed");
    pass(1);
    expect([breakers.state("a"), breakers.own().size]).toEqual(["open", 0]);
  });

  it("chooses a half-open arm for a few probes, and again after a while", () => {
    const { breakers, others, pass } = setUp();
    others.push("half-open", "open");
    for (let i = 0; i < settings.probes; i++) {
      expect(breakers.state("a")).toBe("half-open");
      breakers.probed("a");
    }
    expect(breakers.state("a")).toBe("open");
    pass(settings.openMs);
    expect(breakers.state("a")).toBe("half-open");
  });
});
