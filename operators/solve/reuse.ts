// Error bound of reused answers by sharing domain (algorithms/routing/error-bound.ts). Pure.
import { watchErrors, type ErrorWatch } from "../../algorithms/routing/error-bound.ts";
import type { ReuseCase } from "../learnt.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

/** Confidence of the bound on the share of wrong answers. */
export const reuseConfidence = 0.95;

export type ReuseDomains = ReadonlyMap<string, ErrorWatch>;

export interface VerifyReuseDependencies {
  limits: () => { limit: number };
}

export function createVerifyReuse({ limits }: VerifyReuseDependencies) {
  return function verifyReuse({ cases }: { cases: readonly ReuseCase[] }): { domains: ReuseDomains } {
    return { domains: verifyDomains(cases, limits()) };
  };
}

export function verifyDomains(cases: readonly ReuseCase[], { limit }: { limit: number }): ReuseDomains {
  const byDomain = groupBy(cases, ({ domain }) => domain);
  return new Map(
    [...byDomain].map(([domain, its]) => [domain, watchErrors(its, { limit, confidence: reuseConfidence })]),
  );
}
