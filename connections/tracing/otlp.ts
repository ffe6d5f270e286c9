// Traces by OpenTelemetry, exported over OTLP/HTTP. Loaded only where tracing is on. No global
// tracer, no automatic instrumentation: there are the spans that we start, and no others.
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT_CONTEXT, SpanStatusCode, trace, type Context, type Span as OtelSpan } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import { TracerProvider, type SpanExporter } from "@opentelemetry/sdk-trace";
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAME } from "@opentelemetry/semantic-conventions/incubating";
import { contextOf, headersOf } from "./context.ts";
import { attributesOf, errorAttributes, kinds } from "./conventions.ts";
import { createProcessor, exportLimits, type ExportReport } from "./exporting.ts";
import type { Span, SpanStart, Tracing } from "./port.ts";
import { createSampler, type SamplerOptions } from "./sampler.ts";

export interface TracingOptions {
  /** Full URL of the collector's traces endpoint; absent: OpenTelemetry's own variables apply. */
  url: string | undefined;
  headers: Readonly<Record<string, string>>;
  sampling: SamplerOptions;
  serviceName: string;
  instance: string;
  report: ExportReport;
  /** What is left is sent within this time on close, or lost. */
  closeMs: number;
}

export function createTracing({ url, headers, ...options }: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({
    ...(url === undefined ? {} : { url }),
    headers: { ...headers },
    timeoutMillis: exportLimits.timeoutMs,
  });
  return tracingTo(exporter, options);
}

export function tracingTo(exporter: SpanExporter, options: Omit<TracingOptions, "url" | "headers">): Tracing {
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        [ATTR_SERVICE_NAME]: options.serviceName,
        [ATTR_SERVICE_INSTANCE_ID]: options.instance,
      }),
    ),
    sampler: createSampler(options.sampling),
    spanProcessors: [createProcessor(exporter, options.report)],
    spanLimits: { attributeCountLimit: 64, attributeValueLengthLimit: 1_024, eventCountLimit: 8 },
  });
  const tracer = provider.getTracer("precedent");
  const underWay = new AsyncLocalStorage<Span>();

  const begin = (parent: Context, { name, kind, facts = {}, at }: SpanStart): Span => {
    const { kind: otelKind, attributes } = kinds[kind];
    const span = tracer.startSpan(
      name,
      {
        kind: otelKind,
        attributes: { ...attributes, ...attributesOf(facts) },
        ...(at === undefined ? {} : { startTime: at }),
      },
      parent,
    );
    return ours(span);
  };

  const ours = (span: OtelSpan): Span => {
    const own: Span = {
      headers: headersOf(span.spanContext()),
      isRecorded: span.isRecording(),
      child: (start) => begin(trace.setSpan(ROOT_CONTEXT, span), start),
      set: (facts) => void span.setAttributes(attributesOf(facts)),
      during: (work) => underWay.run(own, work),
      end({ error, at } = {}) {
        if (error !== undefined)
          span.setAttributes(errorAttributes(error)).setStatus({ code: SpanStatusCode.ERROR, message: error });
        span.end(at);
      },
    };
    return own;
  };

  return {
    follow: (headers, start) => begin(contextOf(headers), start),
    current: () => underWay.getStore(),
    async close() {
      const late = new AbortController();
      await Promise.race([
        provider.shutdown().catch(() => undefined),
        sleep(options.closeMs, undefined, { signal: late.signal }).catch(() => undefined),
      ]);
      late.abort();
    },
  };
}
