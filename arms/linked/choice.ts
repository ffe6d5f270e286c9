// Which policy a request gets, and which prefills are compared with full ones. Measurements live
// outside of the model's process; other processes' come from history.ts.
import {
  addSample,
  choosePolicy,
  memory,
  noRecord,
  type PolicyRecord,
} from "../../algorithms/linked-prefill/policy-choice.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import type { Comparison, Sample } from "./idle.ts";

export interface Chosen {
  policy: string;
  /** What it is known by; null: nothing has proved itself, and this one keeps the quality. */
  record: PolicyRecord | null;
}

export type PastSample = Pick<Sample, "requestId" | "policy" | "kl" | "recomputedShare">;

export interface LinkedChoice {
  /** Name of the policy; `asked` is what the request wants, if anything. */
  policy(asked: string | null): string;
  compare(request: Pick<Comparison, "requestId" | "tenant">, policy: string): Comparison | null;
  add(sample: PastSample): void;
  /** What all processes measured, oldest first, in place of what was known. */
  restore(samples: readonly PastSample[]): void;
  chosen(): Chosen | null;
}

/** Choices of auto, cheap to expensive; the second to last serves until one is proved. */
export const candidates = ["naive", "attnlink-2", "last-1", "last-1+attnlink-2", "last-2", "last-3"] as const;
const fallback = "last-2";
/** Samples of a policy before auto believes them. */
const least = 20;
/** Older samples of a policy count for next to nothing. */
export const mostPast = 4 * memory;
/** Readings after which a missing sample counts as lost. */
const mostReadings = 10;

export function createLinkedChoice(
  { policy, sampleShare, maxKl }: { policy: string; sampleShare: number; maxKl: number },
  random: Random,
): LinkedChoice {
  let records = new Map<string, PolicyRecord>();
  /** Added here and not read back yet, oldest first. */
  let own: { sample: PastSample; readings: number }[] = [];
  const take = ({ policy: name, kl, recomputedShare }: PastSample): void => {
    records.set(name, addSample(records.get(name) ?? noRecord, kl, recomputedShare));
  };
  const choose = (): string => choosePolicy(records, { bound: maxKl, least, fallback });
  return {
    policy: (asked) => asked ?? (policy === "auto" ? choose() : policy),
    compare(request, used) {
      if (random() >= sampleShare) return null;
      const policies = policy === "auto" ? candidates : [used];
      return { ...request, policies: [...policies].filter((name) => name !== "full") };
    },
    add(sample) {
      take(sample);
      if (policy !== "auto") return;
      own.push({ sample, readings: 0 });
      if (own.length > mostPast * candidates.length) own.shift();
    },
    restore(samples) {
      const identity = ({ requestId, policy: name }: PastSample): string => `${name} ${requestId}`;
      const read = new Set(samples.map(identity));
      own = own
        .filter(({ sample, readings }) => !read.has(identity(sample)) && readings < mostReadings)
        .map(({ sample, readings }) => ({ sample, readings: readings + 1 }));
      records = new Map();
      for (const sample of samples) take(sample);
      for (const { sample } of own) take(sample);
    },
    chosen() {
      if (policy !== "auto") return null;
      const proved = choosePolicy(records, { bound: maxKl, least, fallback: "" });
      if (proved === "") return { policy: fallback, record: null };
      return { policy: proved, record: records.get(proved) ?? null };
    },
  };
}
