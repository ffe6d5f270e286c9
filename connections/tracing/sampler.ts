// Which traces are exported, decided alike in every process by the trace's id, whatever headers
// say. With a key clients can't choose an exported id.
import { createHash } from "node:crypto";
import { trace, TraceFlags, type Context } from "@opentelemetry/api";
import { SamplingDecision, type Sampler, type SamplingResult } from "@opentelemetry/sdk-trace";

export interface SamplerOptions {
  ratio: number;
  key: string;
  /** What the headers say of the trace decides where they say something. */
  followFlag: boolean;
}

const result = (isSampled: boolean): SamplingResult => ({
  decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
});

export function createSampler({ ratio, key, followFlag }: SamplerOptions): Sampler {
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
