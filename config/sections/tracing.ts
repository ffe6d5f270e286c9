// OpenTelemetry traces: where they are sent, and which.
import { z } from "zod";
import { httpUrl } from "./common.ts";

export const tracing = z.strictObject({
  /** OTLP/HTTP collector, without /v1/traces (docs/tracing.md). */
  endpoint: httpUrl.optional(),
  /** Sent with every export, such as authorization. */
  headers: z.record(z.string(), z.string()).default({}),
  /** Share of the traces that are exported; equal in all processes. */
  sampleRatio: z.number().min(0).max(1).default(1),
  /** Secret against exports that clients choose; equal in all processes. */
  sampleKey: z.string().default(""),
  /** A trusted client's own sampling decision counts. */
  followSampled: z.boolean().default(false),
});
