// Whether anything reads the question's vector: the search, or the choice between arms. It costs
// more than all else in plan.
import type { SharedDomains } from "../../algorithms/selection/shared-domains.ts";
import type { ExamplePool } from "../../state/examples/port.ts";
import type { Validated } from "../flow.ts";
import { type Declares, serves } from "../../arms/serves.ts";

export interface NeededDependencies {
  arms: () => readonly (Declares & { name: string; examples: boolean })[];
  pool: Pick<ExamplePool, "holds">;
  selection: { examples: number };
  sharing?: Pick<SharedDomains, "sharedDomainOf">;
}

export function createNeeded({ arms, pool, selection, sharing }: NeededDependencies) {
  return function isNeeded({ request, domain }: Pick<Validated, "request" | "domain">): boolean {
    const { allow, requires, passthrough } = request;
    const eligible = arms().filter((arm) => serves(arm, requires) && (allow.arms?.includes(arm.name) ?? true));
    if (eligible.length > 1) return true;
    const mayShow = selection.examples > 0 && passthrough === null && eligible.some(({ examples }) => examples);
    const domains = [domain, sharing?.sharedDomainOf(domain) ?? null].filter((sharedDomain) => sharedDomain !== null);
    return mayShow && domains.some((sharedDomain) => pool.holds(sharedDomain));
  };
}
