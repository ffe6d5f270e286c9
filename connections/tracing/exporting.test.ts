import { ExportResultCode, type ExportResult } from "@opentelemetry/core";
import { TracerProvider, type SpanExporter } from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { createProcessor, type ExportReport } from "./exporting.ts";

/** An exporter that responds on demand. */
function setUp(held: number, batch: number) {
  const calls: { spans: number; done: (result: ExportResult) => void }[] = [];
  const exporter: SpanExporter = {
    export: (spans, done) => void calls.push({ spans: spans.length, done }),
    shutdown: () => Promise.resolve(),
  };
  const counts = { exported: 0, lost: 0, away: 0, back: 0 };
  const report: ExportReport = {
    exported: (spans) => void (counts.exported += spans),
    lost: (spans) => void (counts.lost += spans),
    away: () => {
      counts.away++;
    },
    back: () => {
      counts.back++;
    },
  };
  const limits = { held, batch, everyMs: 60_000, timeoutMs: 60_000 };
  const processor = createProcessor(exporter, report, limits);
  const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer("test");
  const end = (spans: number): void => {
    for (let i = 0; i < spans; i++) tracer.startSpan("a").end();
  };
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const answer = async (code: ExportResultCode): Promise<void> => {
    calls.shift()?.done({ code });
    await settle();
  };
  return { calls, counts, end, answer };
}
const { SUCCESS, FAILED } = ExportResultCode;

test("holds so many spans while an exporter does not answer; the rest are lost and counted", async () => {
  const { calls, counts, end, answer } = setUp(10, 5);
  end(25);
  expect(calls.map(({ spans }) => spans)).toEqual([5]);
  expect(counts).toEqual({ exported: 0, lost: 15, away: 0, back: 0 });
  await answer(SUCCESS);
  expect(counts.exported).toBe(5);
  // There is room again, and no more than that.
  end(6);
  expect(counts.lost).toBe(16);
});

test("says once that the collector is away, and once that it is back", async () => {
  const { counts, end, answer } = setUp(100, 5);
  for (const code of [FAILED, FAILED, FAILED, SUCCESS, SUCCESS, FAILED]) {
    end(5);
    await answer(code);
  }
  expect(counts).toEqual({ exported: 10, lost: 20, away: 2, back: 1 });
});
