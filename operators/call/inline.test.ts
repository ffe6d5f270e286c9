import { describe, expect, it } from "vitest";
import type { ArmRequest, ArmResult } from "../../arms/arm.ts";
import type { Outcome } from "../../runtime/step.ts";
import type { Request } from "../../schemas/types.ts";
import { aContext, NOW } from "../values.testing.ts";
import { createCallInline } from "./inline.ts";
import { anAnswer, aPaired } from "./values.testing.ts";

const answer = anAnswer();

interface Options {
  result?: ArmResult;
  at?: number[];
  inline?: string[];
  request?: Partial<Request>;
  /** The arm of an alternative answer. */
  other?: string;
}

/** at: milliseconds after NOW at which the arm is called and returns. The work is planned at 10. */
function setUp({ result = answer, at = [10, 30], inline = ["small"], request = {}, other }: Options = {}) {
  const calls: ArmRequest[] = [];
  const times = at.map((ms) => NOW + ms);
  const refusals: string[] = [];
  const arm = {
    answer: (asked: ArmRequest) => {
      calls.push(asked);
      return Promise.resolve(result);
    },
    refused: (code: string) => void refusals.push(code),
  };
  const call = createCallInline({
    inline: (name) => (inline.includes(name) ? arm : undefined),
    clock: () => times.shift() ?? NaN,
    partitions: () => 8,
  });
  const paired = aPaired({ request, ...(other !== undefined && { alternative: other }) });
  return { calls, refusals, paired, outcome: call(paired, aContext()) };
}

/** small fails, and another arm takes over. */
async function handedTo(other: string, inline: string[]) {
  const result = { kind: "failure", code: "endpoint_unavailable", message: "", attempts: 2, retriable: true } as const;
  const answers: Record<string, ArmResult> = { small: result, [other]: answer };
  const asked: string[] = [];
  const call = createCallInline({
    inline: (name) =>
      inline.includes(name)
        ? {
            answer: () => {
              asked.push(name);
              return Promise.resolve(answers[name]!);
            },
            refused: () => undefined,
          }
        : undefined,
    fallback: {
      next: ({ fallback }) => (fallback === null ? { name: other, examples: true, template: "chat-turns" } : undefined),
      handOver: (work, { name }, { code, attempts }) => ({
        ...work,
        fallback: { arm: name, failed: [{ arm: "small", code, message: "", attempts, cost: 0, billed: 0, ms: 0 }] },
      }),
    },
    clock: () => NOW + 20,
  });
  const started = await call(aPaired(), aContext());
  if (started.kind !== "elsewhere") throw new Error(started.kind);
  return { asked, next: await started.go() };
}

async function elsewhere(options: Options = {}, how: "go" | "full" = "go") {
  const { outcome, ...more } = setUp(options);
  const started = await outcome;
  if (started.kind !== "elsewhere") throw new Error(started.kind);
  return { ...more, started, ending: await started[how]() };
}
const emitsOf = (ending: Outcome<unknown, "decisions" | "responses" | "work" | "response-cache">) =>
  ending.kind === "finish" ? ending.emits : [];

describe("call of an inline arm", () => {
  it("passes on the work for every other arm, as it was composed", async () => {
    const { outcome, paired, calls } = setUp({ inline: ["large"] });
    const emits = [
      { output: "work", arm: "small", key: "r1", record: { role: "answer", pieces: paired.prompt.pieces } },
      { output: "decisions", key: "r1", record: { arm: "small", probability: 1 } },
    ];
    expect(await outcome).toMatchObject({ kind: "ok", value: { ...paired, emits } });
    expect(calls).toEqual([]);
  });

  it("waits in the pool of its arm, with the bytes of its prompt, and calls no arm before it is there", () => {
    const { outcome, calls } = setUp();
    const bytes = Buffer.byteLength("list files" + "ls" + "list all files");
    expect(outcome).toMatchObject({ kind: "elsewhere", pool: "small", bytes });
    expect(calls).toEqual([]);
  });

  it("ends with decision and response, and no work; nothing waits on a topic", async () => {
    const { ending, calls, paired } = await elsewhere({ request: { replyPartition: 5 } });
    expect(calls).toEqual([
      {
        ...{ requestId: "r1", tenant: "acme", pieces: paired.prompt.pieces, params: paired.request.params },
        caching: { domain: paired.domain, mayStore: true },
        deadline: NOW + 120_000,
      },
    ]);
    const [decision, response, ...more] = emitsOf(ending);
    expect(more).toEqual([]);
    expect(decision).toMatchObject({ output: "decisions", key: "r1", record: { requestId: "r1", arm: "small" } });
    const timed = decision?.output === "decisions" ? decision.record.timings.map(({ operator }) => operator) : [];
    expect(timed).toEqual(["validate", "call"]);
    expect(response).toMatchObject({
      output: "responses",
      key: "r1",
      partition: 5,
      record: {
        ...{ status: "ok", source: "generated", text: "ls -a", arm: "small", model: "small-1", exampleIds: ["e1"] },
        ...{ cost: 0.25, attempt: 1, timings: { plan: 10, queue: 0, firstToken: 19, total: 30 } },
      },
    });
  });

  it("commits the work for an alternative answer with the first, and none where there is no first", async () => {
    const { ending } = await elsewhere({ other: "large" });
    expect(emitsOf(ending)).toMatchObject([
      { output: "decisions", record: { alternative: true } },
      { output: "responses", record: { asked: true, alternative: "large" } },
      { output: "work", arm: "large", record: { role: "alternative" } },
    ]);
    const result = { kind: "failure", code: "endpoint_rejected", message: "", attempts: 1, retriable: false } as const;
    for (const without of [await elsewhere({ other: "large", result }), await elsewhere({ other: "large" }, "full")])
      expect(emitsOf(without.ending)).toMatchObject([
        { output: "decisions", record: { alternative: false } },
        { output: "responses", record: { alternative: null } },
      ]);
  });

  it.each<[string, { result?: ArmResult; at?: number[] }, object]>([
    [
      "a failure of the arm",
      { result: { kind: "failure", code: "endpoint_unavailable", message: "why", attempts: 3, retriable: true } },
      { status: "failed", error: { code: "endpoint_unavailable" }, attempt: 3 },
    ],
    ["an answer after the deadline", { at: [10, 120_000] }, { status: "refused", cost: 0.25, text: "" }],
    [
      "a deadline that passed before the call",
      { at: [120_000, 120_001] },
      { status: "refused", error: { code: "deadline_exceeded" }, attempt: 0 },
    ],
  ])("ends with the decision in any case: %s", async (_what, options, expected) => {
    const emits = emitsOf((await elsewhere(options)).ending);
    expect(emits.map(({ output }) => output)).toEqual(["decisions", "responses"]);
    expect(emits[1]?.record).toMatchObject({ arm: "small", requestId: "r1", ...expected });
  });

  it("is refused, with its decision, where too many wait for its arm", async () => {
    const { ending, calls, refusals } = await elsewhere({}, "full");
    expect(refusals).toEqual(["too_many_waiting"]);
    const emits = emitsOf(ending);
    expect(emits.map(({ output }) => output)).toEqual(["decisions", "responses"]);
    expect(emits[1]?.record).toMatchObject({ status: "refused", error: { code: "too_many_waiting" } });
    expect(calls).toEqual([]);
  });

  it("leaves a call that was cut off to the partition's next owner", async () => {
    const result = { kind: "failure", code: "cancelled", message: "", attempts: 0, retriable: true } as const;
    expect((await elsewhere({ result })).ending.kind).toBe("retryLater");
  });

  it("goes on in the pool of an inline arm that takes over, and ends with one decision and its response", async () => {
    const { asked, next } = await handedTo("large", ["small", "large"]);
    expect(next).toMatchObject({ kind: "elsewhere", pool: "large" });
    expect(asked).toEqual(["small"]);
    const ending = next.kind === "elsewhere" ? await next.go() : next;
    const emits = ending.kind === "finish" ? ending.emits : [];
    expect(emits.map(({ output }) => output)).toEqual(["decisions", "responses"]);
    expect(emits[0]?.record).toMatchObject({ arm: "small" });
    expect(emits[1]?.record).toMatchObject({ status: "ok", arm: "large", attempt: 3, failedArms: [{ arm: "small" }] });
  });

  it("ends with the decision and the work for a queued arm that takes over", async () => {
    const { next } = await handedTo("large", ["small"]);
    const emits = next.kind === "finish" ? next.emits : [];
    expect(emits).toMatchObject([
      { output: "decisions", record: { arm: "small" } },
      { output: "work", arm: "large", key: "r1", record: { fallback: { arm: "large" } } },
    ]);
  });
});
