// Traces by OpenTelemetry, exported over OTLP/HTTP. Loaded only where tracing is on. No global
// tracer, no automatic instrumentation: there are the spans that we start, and no others.
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Span as OtelSpan,
  type SpanContext,
  TraceFlags,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  TracerProvider,
  type SpanExporter,
  SamplingDecision,
  type Sampler,
  type SamplingResult,
} from "@opentelemetry/sdk-trace";
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAME } from "@opentelemetry/semantic-conventions/incubating";
import { attributesOf, errorAttributes, kinds } from "./conventions.ts";
import { createProcessor, exportLimits, type ExportReport } from "./exporting.ts";
import type { Span, SpanStart, Tracing, ForeignHeaders, TraceHeaders } from "./port.ts";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { createHash } from "node:crypto";

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

const propagator = new W3CTraceContextPropagator();

/** A traceparent of a later version may be longer than ours; a tracestate has 512 at most. */
const mostBytes = 512;

const getter = {
  keys: (headers: ForeignHeaders) => Object.keys(headers),
  get(headers: ForeignHeaders, name: string): string | undefined {
    const value = headers[name];
    // A repeated traceparent is ignored; tracestates form one list.
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text === undefined || text.length > mostBytes) return undefined;
    return typeof text === "string" ? text : text.toString("latin1");
  },
};

export function contextOf(headers: ForeignHeaders): Context {
  return propagator.extract(ROOT_CONTEXT, headers, getter);
}

export function headersOf(span: SpanContext): TraceHeaders {
  const headers: Record<string, string> = {};
  propagator.inject(trace.setSpanContext(ROOT_CONTEXT, span), headers, {
    set: (carrier: Record<string, string>, name, value) => void (carrier[name] = value),
  });
  return headers;
}

export interface SamplerOptions {
  ratio: number;
  key: string;
  /** What the headers say of the trace decides where they say something. */
  followFlag: boolean;
}

const result = (isSampled: boolean): SamplingResult => ({
  decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
});

function createSampler({ ratio, key, followFlag }: SamplerOptions): Sampler {
  return {
    shouldSample(context: Context, traceId: string) {
      const parent = trace.getSpanContext(context);
      const isOurs = parent !== undefined && parent.isRemote !== true;
      if (parent !== undefined && (isOurs || followFlag)) return result((parent.traceFlags & TraceFlags.SAMPLED) !== 0);
      if (ratio >= 1 || ratio <= 0) return result(ratio >= 1);
      const hash = createHash("sha256").update(key).update(traceId).digest().readUInt32BE(0);
      return result(hash / 2 ** 32 < ratio);
    },
    toString: () => `precedent(${ratio})`,
  };
}
