// Tracing into memory, for tests.
import { ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { tracingTo } from "./otlp.ts";
import type { Tracing } from "./port.ts";
import type { SamplerOptions } from "./sampler.ts";

export interface TestTracing extends Tracing {
  /** What has ended, once tracing is closed. */
  ended(): Promise<readonly ReadableSpan[]>;
}

export function testTracing(sampling: Partial<SamplerOptions> = {}): TestTracing {
  const spans: ReadableSpan[] = [];
  const exporter: SpanExporter = {
    export(exported, done) {
      spans.push(...exported);
      done({ code: ExportResultCode.SUCCESS });
    },
    shutdown: () => Promise.resolve(),
  };
  const nothing = (): void => undefined;
  const tracing = tracingTo(exporter, {
    sampling: { ratio: 1, key: "", followFlag: false, ...sampling },
    ...{ serviceName: "test", instance: "1", closeMs: 5_000 },
    report: { exported: nothing, lost: nothing, away: nothing, back: nothing },
  });
  return {
    ...tracing,
    async ended() {
      await tracing.close();
      return spans;
    },
  };
}
