// The gateway in traces: a span for each HTTP request of the API whose sender may ask, below the
// client's own where it names one, and one for the record that it becomes. Requests without a valid
// key, the page and health make none.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { Span, Tracing } from "../connections/tracing/port.ts";
import { isApi } from "./addresses.ts";
import { onceEnded } from "./closed.ts";
import type { Send } from "./send.ts";

export type SpanOf = (incoming: FastifyRequest) => Span | undefined;

/** Its hook comes behind those of access. */
export function addTracing(server: FastifyInstance, tracing: Tracing | undefined): SpanOf {
  if (tracing === undefined) return () => undefined;
  const spans = new WeakMap<FastifyRequest, Span>();
  server.addHook("onRequest", (incoming, reply, done) => {
    const { method, headers, routeOptions } = incoming;
    const route = routeOptions.url;
    if (route !== undefined && isApi(route)) {
      const span = tracing.follow(headers, { name: `${method} ${route}`, kind: "server", facts: { method, route } });
      spans.set(incoming, span);
      onceEnded(reply, (isComplete) => endSpan(span, reply, isComplete));
    }
    done();
  });
  return (incoming) => spans.get(incoming);
}

/** A client's own fault is no error of the server's; one that has gone has no status. */
function endSpan(span: Span, reply: FastifyReply, isComplete: boolean): void {
  const { statusCode } = reply.raw;
  const reported = (name: string): string | undefined => {
    const value = reply.getHeader(name);
    return typeof value === "string" ? value : undefined;
  };
  span.set({
    ...(isComplete ? { status: statusCode } : { outcome: "client_gone" }),
    requestId: reported("x-precedent-request-id"),
    arm: reported("x-precedent-arm"),
    source: reported("x-precedent-source"),
  });
  span.end(isComplete && statusCode >= 500 ? { error: String(statusCode) } : {});
}

/** Produces a request below that span; its headers carry the trace on. */
export async function sendTraced<T extends string>(
  message: OutgoingMessage<T>,
  { id, tenant }: { id: string; tenant: string },
  { send, span }: { send: Send<T>; span: Span },
): Promise<void> {
  const { topic } = message;
  const sent = span.child({ name: `send ${topic}`, kind: "send", facts: { topic, requestId: id, tenant } });
  try {
    await send({ ...message, headers: sent.headers });
    sent.end();
  } catch (error) {
    sent.end({ error: "kafka_unavailable" });
    throw error;
  }
}
