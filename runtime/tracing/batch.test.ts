import { expect, test } from "vitest";
import { testTracing } from "../../connections/tracing/tracing.testing.ts";
import { createBatch } from "../../operators/batch/batch.ts";
import { rawRecord } from "../doubles.testing.ts";
import { traceBatch } from "./batch.ts";

test("a record that comes with a trace has a span until its rows are stored; others have none", async () => {
  const tracing = testTracing();
  const options = { stage: "record", group: "g" };
  const { batch, onStored } = traceBatch(createBatch({ maxRows: 10, maxBytes: 1e6 }), tracing, options);
  const traceparent = Buffer.from(`00-${"a".repeat(32)}-${"b".repeat(16)}-01`);
  const add = (offset: number, headers: Record<string, Buffer>): void =>
    batch.add({ topic: "responses", partition: 0, record: { ...rawRecord(offset, "x"), headers } }, []);
  add(1, { traceparent });
  add(2, {});
  batch.take();
  add(3, { traceparent });
  onStored?.();
  const spans = await tracing.ended();
  expect(spans.map(({ attributes }) => attributes["messaging.kafka.offset"])).toEqual([1]);
  expect(spans[0]?.spanContext().traceId).toBe("a".repeat(32));
  expect(spans[0]?.parentSpanContext?.spanId).toBe("b".repeat(16));
});
