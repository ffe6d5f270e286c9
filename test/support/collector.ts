// An OTLP/HTTP collector on the loopback, for tests: it keeps the spans that it is sent as JSON, or
// refuses them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty: it begins the trace. */
  parentId: string;
  name: string;
  kind: string;
  attributes: Readonly<Record<string, unknown>>;
  /** Its status says error. */
  isError: boolean;
  startedAt: number;
  endedAt: number;
}

export interface Collector {
  endpoint: string;
  /** Spans of all processes, in the order of their arrival. */
  spans(traceId?: string): readonly CollectedSpan[];
  /** What was sent, as text. */
  text(): string;
  /** Status that every export is answered with. */
  answerWith(status: number): void;
  calls(): number;
  stop(): Promise<void>;
}

interface Value {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number | string;
  doubleValue?: number;
  arrayValue?: { values: Value[] };
}
interface Body {
  resourceSpans: { scopeSpans: { spans: Sent[] }[] }[];
}
interface Sent {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Value }[];
  status: { code?: number };
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"];

const plain = (value: Value): unknown => {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plain);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
};

const spanOf = (sent: Sent): CollectedSpan => ({
  traceId: sent.traceId,
  spanId: sent.spanId,
  parentId: sent.parentSpanId ?? "",
  name: sent.name,
  kind: kinds[sent.kind] ?? "unknown",
  attributes: Object.fromEntries(sent.attributes.map(({ key, value }) => [key, plain(value)])),
  isError: sent.status.code === 2,
  startedAt: Number(BigInt(sent.startTimeUnixNano) / 1_000n) / 1_000,
  endedAt: Number(BigInt(sent.endTimeUnixNano) / 1_000n) / 1_000,
});

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  let status = 200;
  let calls = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      calls++;
      const text = Buffer.concat(parts).toString();
      if (status === 200) {
        texts.push(text);
        const { resourceSpans } = JSON.parse(text) as Body;
        for (const { scopeSpans } of resourceSpans)
          for (const { spans: sent } of scopeSpans) spans.push(...sent.map(spanOf));
      }
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans: (traceId) => spans.filter((span) => traceId === undefined || span.traceId === traceId),
    text: () => texts.join(""),
    answerWith: (next) => void (status = next),
    calls: () => calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
