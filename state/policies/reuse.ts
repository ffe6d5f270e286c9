// The policy `reuse`: error bounds by sharing domain (docs/arms.md, reuse). Nothing new for an hour
// counts as unknown, and so off. Codec and state.
import { z } from "zod";
import type { Policy } from "../../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { decodePolicyBody, type PolicyProblem } from "./record.ts";

export const REUSE = "reuse";
/** How to read the body: JSON of ReuseBody. */
export const REUSE_KIND = "reuse/1";

/** Domains in a body: those with the most cases. In the others the arm is off. */
export const mostReuseDomains = 2_000;
/** learn publishes at least every `refreshMs` milliseconds. */
export const reuseTimes = { refreshMs: 600_000, staleMs: 3_600_000 } as const;

const count = z.number().int().min(0);
const domainSchema = z.strictObject({
  /** Verified cases that count, and those of them that were wrong. */
  cases: count,
  wrong: count,
  bound: z.number().min(0).max(1),
  /** Times that a change for the worse made everything before it void. */
  alarms: count,
});
const bodySchema = z.strictObject({
  arm: z.string(),
  /** Above it the arm is off. */
  limit: z.number(),
  domains: z.record(z.string(), domainSchema),
});
export type ReuseBody = z.infer<typeof bodySchema>;

export const encodeReuseBody = (body: ReuseBody): string => JSON.stringify(bodySchema.parse(body));

/** The body, or why this process can't use the record. */
export function decodeReusePolicy(record: Policy): (ReuseBody & { createdAt: number }) | PolicyProblem {
  const decoded = decodePolicyBody(record, bodySchema, { name: REUSE, kind: REUSE_KIND });
  return "problem" in decoded ? decoded : { ...decoded.body, createdAt: record.createdAt };
}

/** onProblem: a version that can't be used. clock: milliseconds since the epoch. */
export function createReuseTable(clock: () => number, onProblem: (problem: string) => void) {
  const nothing: ReuseBody & { createdAt: number } = { arm: "", limit: 0, domains: {}, createdAt: 0 };
  const newest = createNewest(decodeReusePolicy, nothing);
  const domains = new Map<string, number>();
  const read = (): void => {
    domains.clear();
    for (const [domain, { bound }] of Object.entries(newest.current().value.domains)) domains.set(domain, bound);
  };
  return {
    /** Takes a record of this policy; others are not ours. */
    apply(record: Policy): void {
      if (record.name !== REUSE || !newest.apply(record)) return;
      const { problem } = newest.current();
      if (problem === null) read();
      else onProblem(problem);
    },
    /** A tombstone: nothing is known. */
    remove(name: string): void {
      if (name !== REUSE) return;
      newest.remove();
      read();
    },
    /** Upper bound of the share of wrong answers; 1: nothing is known. */
    bound(arm: string, domain: string): number {
      const { value } = newest.current();
      const isStale = clock() - value.createdAt > reuseTimes.staleMs;
      return value.arm !== arm || isStale ? 1 : (domains.get(domain) ?? 1);
    },
    /** Domains in which the arm is on, and off. */
    figures(): { on: number; off: number } {
      const { limit } = newest.current().value;
      const on = [...domains.values()].filter((bound) => bound <= limit).length;
      return { on, off: domains.size - on };
    },
  };
}
