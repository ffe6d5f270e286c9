// The router policy in force, and the versions that experiments name.
import type { Policy } from "../../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { pinName } from "./pin.ts";
import { decodeRouterPolicy, priorPolicy, ROUTER, withoutShared, type RouterPolicy } from "./router.ts";

export interface PolicyState {
  policy: RouterPolicy;
  /** Why a newer version is not in force; null when the newest is. */
  problem: string | null;
}

/**
 * @param statistics as `routing.statistics` says
 * @param versions those whose pins are held
 */
export function createPolicyTable(statistics: "shared" | "tenant" = "shared", versions: readonly number[] = []) {
  const usable = (policy: RouterPolicy): RouterPolicy => (statistics === "tenant" ? withoutShared(policy) : policy);
  const initial = usable(priorPolicy);
  const table = () =>
    createNewest((record) => {
      const decoded = decodeRouterPolicy(record);
      return "problem" in decoded ? decoded : usable(decoded);
    }, initial);
  const newest = table();
  const pins = new Map(versions.map((version) => [pinName(version), table()]));
  return {
    /** Takes a record of the topic; other policies and older versions are ignored. */
    apply(record: Policy): void {
      if (record.name === ROUTER) newest.apply(record);
      else pins.get(record.name)?.apply(record);
    },
    /** A tombstone: back to the prior. */
    remove(name: string): void {
      if (name === ROUTER) newest.remove();
      else pins.get(name)?.remove();
    },
    current(): PolicyState {
      const { value, problem } = newest.current();
      return { policy: value, problem };
    },
    /** A version by its pin; 0: the prior. The problem says why it can't be used. */
    version(version: number): PolicyState {
      if (version === 0) return { policy: initial, problem: null };
      const found = pins.get(pinName(version))?.current();
      const absent = found?.version === version ? null : `precedent policy pin ${version} publishes it`;
      return { policy: found?.value ?? initial, problem: found?.problem ?? absent };
    },
  };
}
