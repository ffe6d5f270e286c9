// Which policy a request of an arm gets, and which of its prefills are compared with full ones. What was measured stays here, outside the process of
// the model, which may die.
import { addSample, choosePolicy, noRecord, type PolicyRecord } from "../algorithms/policy-choice.ts";
import type { Random } from "../algorithms/random.ts";
import type { Comparison, Sample } from "./linked-idle.ts";

export interface LinkedChoice {
  /** Name of the policy; `asked` is what the request wants, if anything. */
  policy(asked: string | null): string;
  /** What is to be compared on this request; null: nothing. */
  compare(request: Pick<Comparison, "requestId" | "tenant">, policy: string): Comparison | null;
  add(sample: Sample): void;
}

/** What auto chooses from, cheap to dear; the second to last keeps the quality until something cheaper has proved itself. */
export const candidates = ["naive", "attnlink-2", "last-1", "last-1+attnlink-2", "last-2", "last-3"] as const;
const fallback = "last-2";
/** Samples of a policy before auto believes them. */
const least = 20;

export function createLinkedChoice(
  { policy, sampleShare, maxKl }: { policy: string; sampleShare: number; maxKl: number },
  random: Random,
): LinkedChoice {
  const records = new Map<string, PolicyRecord>();
  return {
    policy: (asked) => asked ?? (policy === "auto" ? choosePolicy(records, { bound: maxKl, least, fallback }) : policy),
    compare(request, used) {
      if (random() >= sampleShare) return null;
      const policies = policy === "auto" ? candidates : [used];
      return { ...request, policies: [...policies].filter((name) => name !== "full") };
    },
    add({ policy: name, kl, recomputedShare }) {
      records.set(name, addSample(records.get(name) ?? noRecord, kl, recomputedShare));
    },
  };
}
