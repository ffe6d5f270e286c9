import { setTimeout as sleep } from "node:timers/promises";
import { SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { createTracing } from "./otlp.ts";
import { testTracing } from "./tracing.testing.ts";

describe("a span", () => {
  test("is what the work below it belongs to, across waits, and nothing else's", async () => {
    const tracing = testTracing();
    const span = tracing.follow({}, { name: "a", kind: "process" });
    const other = tracing.follow({}, { name: "b", kind: "process" });
    const seen = (): string | undefined => tracing.current()?.headers["traceparent"];
    const during = async (): Promise<(string | undefined)[]> => {
      const before = seen();
      await sleep(1);
      return [before, seen()];
    };
    const [ofSpan, ofOther] = await Promise.all([span.during(during), other.during(during)]);
    expect(ofSpan).toEqual([span.headers["traceparent"], span.headers["traceparent"]]);
    expect(ofOther).toEqual([other.headers["traceparent"], other.headers["traceparent"]]);
    expect(tracing.current()).toBeUndefined();
  });

  test("says what is known in the words of the conventions, and an error by its code", async () => {
    const tracing = testTracing();
    const span = tracing.follow({}, { name: "chat m", kind: "model", facts: { requestModel: "m", seed: undefined } });
    span.set({ inputTokens: 3, partition: 2, finishReasons: ["stop"] });
    span.end({ error: "endpoint_timeout" });
    const [ended] = await tracing.ended();
    expect(ended?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "m",
      "gen_ai.usage.input_tokens": 3,
      "messaging.destination.partition.id": "2",
      "gen_ai.response.finish_reasons": ["stop"],
      "error.type": "endpoint_timeout",
    });
    expect(ended?.status.code).toBe(SpanStatusCode.ERROR);
    expect(ended?.resource.attributes).toMatchObject({ "service.name": "test" });
  });
});

test("closing ends without a collector: the spans are lost, and that is reported once", async () => {
  let lost = 0;
  let reported = 0;
  const tracing = createTracing({
    // No process listens on the discard port.
    url: "http://127.0.0.1:9/v1/traces",
    headers: {},
    sampling: { ratio: 1, key: "", followFlag: false },
    ...{ serviceName: "test", instance: "1", closeMs: 300 },
    report: {
      exported: () => expect.unreachable(),
      lost: (spans) => void (lost += spans),
      away: () => {
        reported++;
      },
      back: () => expect.unreachable(),
    },
  });
  for (let i = 0; i < 10; i++) tracing.follow({}, { name: "a", kind: "process" }).end();
  await tracing.close();
  expect(reported).toBeLessThanOrEqual(1);
  expect(lost === 0 || lost === 10).toBe(true);
});
