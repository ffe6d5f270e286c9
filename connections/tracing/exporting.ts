// Exports spans within bounds: at most `held` spans are held, others are dropped and counted. An
// outage of the collector is logged once, and so is its end. Never waits.
import { ExportResultCode, type ExportResult } from "@opentelemetry/core";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from "@opentelemetry/sdk-trace";

export interface ExportReport {
  exported(spans: number): void;
  lost(spans: number): void;
  /** From now on spans are lost; cause: what the exporter says. */
  away(cause: unknown): void;
  back(): void;
}

export interface ExportLimits {
  held: number;
  batch: number;
  everyMs: number;
  timeoutMs: number;
}

export const exportLimits: ExportLimits = { held: 4_096, batch: 512, everyMs: 1_000, timeoutMs: 10_000 };

export function createProcessor(
  exporter: SpanExporter,
  report: ExportReport,
  limits: ExportLimits = exportLimits,
): SpanProcessor {
  let held = 0;
  let isAway = false;

  const ended = (spans: number, { code, error }: ExportResult): void => {
    held -= spans;
    const isLost = code !== ExportResultCode.SUCCESS;
    report[isLost ? "lost" : "exported"](spans);
    if (isLost === isAway) return;
    isAway = isLost;
    if (isLost) report.away(error);
    else report.back();
  };
  const counting: SpanExporter = {
    export(spans, done) {
      exporter.export(spans, (result) => {
        ended(spans.length, result);
        // The batch processor would log a failure each time.
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: limits.held,
    maxExportBatchSize: limits.batch,
    scheduledDelayMillis: limits.everyMs,
    // The exporter ends each call itself, before that.
    exportTimeoutMillis: 2 * limits.timeoutMs,
  });
  return {
    onStart: () => undefined,
    onEnd(span: ReadableSpan) {
      if (held >= limits.held) {
        report.lost(1);
        return;
      }
      held++;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
