// Opens tracing where the configuration, or OpenTelemetry's own variables, say where traces go.
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import type { Tracing } from "../connections/tracing/port.ts";
import type { MetricsRegistry } from "../runtime/metrics/stage.ts";
import { createTracingMetrics } from "../runtime/metrics/tracing.ts";

const variables = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;
const closeMs = 3_000;

interface Around {
  metrics: MetricsRegistry;
  log: Logger;
}

/** undefined: nothing is to be traced, and nothing of OpenTelemetry is loaded. */
export async function openTracing(
  { tracing, instance }: Config,
  { metrics, log }: Around,
): Promise<Tracing | undefined> {
  const { endpoint, headers, sampleRatio, sampleKey, followSampled } = tracing;
  const named = variables.some((name) => (process.env[name] ?? "") !== "");
  if (endpoint === undefined && !named) return undefined;
  const { createTracing } = await import("../connections/tracing/otlp.ts");
  const { exported, lost } = createTracingMetrics(metrics);
  return createTracing({
    url:
      endpoint === undefined
        ? undefined
        : new URL("v1/traces", endpoint.endsWith("/") ? endpoint : `${endpoint}/`).href,
    headers,
    sampling: { ratio: sampleRatio, key: sampleKey, followFlag: followSampled },
    serviceName: process.env["OTEL_SERVICE_NAME"] ?? "precedent",
    instance: instance ?? randomUUID(),
    report: {
      ...{ exported, lost },
      away: (cause) => log.warn({ err: cause }, "the collector takes no traces: spans are lost until it does"),
      back: () => log.info("the collector takes traces again"),
    },
    closeMs,
  });
}
