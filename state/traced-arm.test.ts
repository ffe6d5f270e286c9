import { SpanStatusCode } from "@opentelemetry/api";
import { expect, test } from "vitest";
import type { Arm, ArmResult } from "../arms/arm.ts";
import { armRequest } from "../arms/request.testing.ts";
import { testTracing, type TestTracing } from "../connections/tracing/tracing.testing.ts";
import { callHeaders, traceArm } from "./traced-arm.ts";

const armOf = (answer: () => Promise<ArmResult>): Arm => ({
  ...{ name: "small", model: "m-1", concurrency: 1 },
  answer,
  close: () => Promise.resolve(),
});
const spansOf = async (tracing: TestTracing) =>
  (await tracing.ended()).map(({ name, attributes, status, parentSpanContext }) => ({
    ...{ name, attributes, parent: parentSpanContext?.spanId },
    isError: status.code === SpanStatusCode.ERROR,
  }));

test("a call is a span below the record's; the endpoint gets its traceparent, and no client's tracestate", async () => {
  const tracing = testTracing();
  let reported: Record<string, string> = {};
  const arm = armOf(() => {
    reported = callHeaders(tracing);
    return Promise.resolve({
      kind: "failure",
      code: "endpoint_timeout",
      message: "a text",
      attempts: 3,
      retriable: true,
    });
  });
  const headers = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: "client=secret" };
  const record = tracing.follow(headers, { name: "record", kind: "process" });
  const traced = traceArm(arm, "openai", tracing);
  await record.during(() => traced.answer(armRequest({ params: { maxTokens: 7 } }), new AbortController().signal));
  const [call] = await spansOf(tracing);
  expect(Object.keys(reported)).toEqual(["traceparent"]);
  expect(reported["traceparent"]).toContain("a".repeat(32));
  expect(record.headers["traceparent"]).toContain(call?.parent ?? "none");
  expect(call).toMatchObject({ name: "chat m-1", isError: true });
  expect(call?.attributes).toMatchObject({
    "gen_ai.request.max_tokens": 7,
    "error.type": "endpoint_timeout",
    "precedent.attempts": 3,
  });
  expect(JSON.stringify(call)).not.toContain("a text");
});

test("a call for no request (a judge, a log replay) is a trace of its own; a bug passes through", async () => {
  const tracing = testTracing();
  const traced = traceArm(
    armOf(() => Promise.reject(new Error("a bug"))),
    "llama",
    tracing,
  );
  await expect(traced.answer(armRequest(), new AbortController().signal)).rejects.toThrow("a bug");
  const [call] = await spansOf(tracing);
  expect(call).toMatchObject({ parent: undefined, isError: true });
  expect(call?.attributes).toMatchObject({ "gen_ai.provider.name": "llama", "error.type": "internal_error" });
});
