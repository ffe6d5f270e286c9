// OpenTelemetry traces: where they are sent, and which.
import { z } from "zod";
import { httpUrl } from "./common.ts";

export const tracing = z.strictObject({
  /**
   * OTLP/HTTP collector, e.g. http://127.0.0.1:4318; /v1/traces is appended. Absent:
   * OTEL_EXPORTER_OTLP_(TRACES_)ENDPOINT; without it, no tracing.
   */
  endpoint: httpUrl.optional(),
  /** Sent with every export, e.g. authorization; write ${VARIABLE}. */
  headers: z.record(z.string(), z.string()).default({}),
  /** Share of the traces that are exported. The same in all processes, or traces have gaps. */
  sampleRatio: z.number().min(0).max(1).default(1),
  /**
   * Mixed into the choice of what is exported: without it a client could choose a trace id that
   * always is. The same in all processes; write ${VARIABLE}.
   */
  sampleKey: z.string().default(""),
  /**
   * Where a client's traceparent says whether its trace is sampled, that counts, not sampleRatio.
   * For clients that are trusted: each can have everything exported.
   */
  followSampled: z.boolean().default(false),
});
