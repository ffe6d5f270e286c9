// The router policy in force.
import type { Policy } from "../../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { decodeRouterPolicy, priorPolicy, ROUTER, withoutShared, type RouterPolicy } from "./router.ts";

export interface PolicyState {
  policy: RouterPolicy;
  /** Why a newer version is not in force; null when the newest is. */
  problem: string | null;
}

export interface PolicyTable {
  /** Takes a record of the topic; other policies and older versions are ignored. */
  apply(record: Policy): void;
  /** A tombstone: back to the prior. */
  remove(name: string): void;
  current(): PolicyState;
}

/** @param statistics as `routing.statistics` says */
export function createPolicyTable(statistics: "shared" | "tenant" = "shared"): PolicyTable {
  const usable = (policy: RouterPolicy): RouterPolicy => (statistics === "tenant" ? withoutShared(policy) : policy);
  const newest = createNewest((record) => {
    const decoded = decodeRouterPolicy(record);
    return "problem" in decoded ? decoded : usable(decoded);
  }, usable(priorPolicy));
  return {
    apply(record) {
      if (record.name === ROUTER) newest.apply(record);
    },
    remove(name) {
      if (name === ROUTER) newest.remove();
    },
    current() {
      const { value, problem } = newest.current();
      return { policy: value, problem };
    },
  };
}
