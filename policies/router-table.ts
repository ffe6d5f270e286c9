// The newest router policy that this process can use, fed by the compacted topic `policies` (a global table).
// A version it can't use leaves the one before in force, so a bad publication never stops routing; the problem is kept for metrics.
import type { Policy } from "../schemas/types.ts";
import { decodeRouterPolicy, priorPolicy, ROUTER, type RouterPolicy } from "./router.ts";

export interface PolicyState {
  policy: RouterPolicy;
  /** Why a newer version is not in force; null when the newest is. */
  problem: string | null;
}

export interface PolicyTable {
  /** Takes a record of the topic; others than the router's are not ours. Older versions than the newest seen are ignored. */
  apply(record: Policy): void;
  /** A tombstone: back to the prior. */
  remove(name: string): void;
  current(): PolicyState;
}

export function createPolicyTable(): PolicyTable {
  let state: PolicyState = { policy: priorPolicy, problem: null };
  let newest = 0;
  return {
    apply(record) {
      if (record.name !== ROUTER || record.version <= newest) return;
      newest = record.version;
      const decoded = decodeRouterPolicy(record);
      state =
        "problem" in decoded ? { policy: state.policy, problem: decoded.problem } : { policy: decoded, problem: null };
    },
    remove(name) {
      if (name !== ROUTER) return;
      state = { policy: priorPolicy, problem: null };
      newest = 0;
    },
    current: () => state,
  };
}
