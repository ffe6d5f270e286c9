// W3C trace context in headers, by OpenTelemetry's propagator: what is malformed counts as absent.
// Headers of records come as bytes, from anybody who may write to the topic.
import { ROOT_CONTEXT, trace, type Context, type SpanContext } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { ForeignHeaders, TraceHeaders } from "./port.ts";

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
