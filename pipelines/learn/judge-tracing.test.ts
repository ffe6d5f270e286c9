import { expect, test } from "vitest";
import type { Arm } from "../../arms/arm.ts";
import { armRequest } from "../../arms/request.testing.ts";
import { testTracing } from "../../connections/tracing/tracing.testing.ts";
import type { Judged } from "../../operators/judge/judge-unrated.ts";
import type { Unrated } from "../../operators/judge/unrated.ts";
import { traceArm } from "../../state/traced-arm.ts";
import { traceJudge } from "./judge-tracing.ts";

const item: Unrated = {
  ...{ requestId: "r1", tenant: "acme", messages: [{ role: "user", content: "a secret" }], arm: "small" },
  ...{ text: "x", otherArm: "large", otherText: "y", maxTokens: null },
};
const judgement = { cost: 0.25, score: null } as Judged["judgement"];

test("a comparison is a trace of its own, with the judge's calls below it and no text in it", async () => {
  const tracing = testTracing();
  const arm: Arm = {
    ...{ name: "judge", model: "big-1", concurrency: 1 },
    answer: () =>
      Promise.resolve({ kind: "failure", code: "rate_limited", message: "a text", attempts: 1, retriable: true }),
    close: () => Promise.resolve(),
  };
  const traced = traceArm(arm, "openai", tracing);
  const { signal } = new AbortController();
  const judge = traceJudge(async () => {
    await Promise.all([traced.answer(armRequest(), signal), traced.answer(armRequest(), signal)]);
    return { judgement, feedback: null, unanswered: true };
  }, tracing);
  // Whatever goes on around it.
  const around = tracing.follow({}, { name: "around", kind: "process" });
  await around.during(() => judge(item, signal));
  const spans = await tracing.ended();
  const whole = spans.find(({ name }) => name === "judge");
  expect(whole?.parentSpanContext).toBeUndefined();
  expect(whole?.attributes).toMatchObject({
    ...{ "precedent.request.id": "r1", "precedent.tenant": "acme", "precedent.stage": "learn" },
    ...{ "precedent.cost": 0.25, "precedent.outcome": "failed", "error.type": "unanswered" },
  });
  const calls = spans.filter(({ name }) => name === "chat big-1");
  const id = whole?.spanContext().spanId;
  expect(calls.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([id, id]);
  expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain("secret");
});

test("a bug passes through, and the trace ends", async () => {
  const tracing = testTracing();
  const judge = traceJudge(() => Promise.reject(new Error("a bug")), tracing);
  await expect(judge(item, new AbortController().signal)).rejects.toThrow("a bug");
  expect((await tracing.ended()).map(({ attributes }) => attributes["error.type"])).toEqual(["internal_error"]);
});
