// The newest usable version of a policy; an unusable one leaves the former in force.
import type { Policy } from "../../schemas/types.ts";
import type { PolicyProblem } from "./record.ts";

export interface InForce<T> {
  value: T;
  /** 0: none is published. */
  version: number;
  /** Why a newer version is not in force; null when the newest is. */
  problem: string | null;
}

export interface Newest<T> {
  /** Takes a record of this policy; false: it is older than the newest seen, and ignored. */
  apply(record: Policy): boolean;
  /** A tombstone: back to the initial one. */
  remove(): void;
  current(): InForce<T>;
}

export function createNewest<T extends object>(decode: (record: Policy) => T | PolicyProblem, initial: T): Newest<T> {
  const none: InForce<T> = { value: initial, version: 0, problem: null };
  let current = none;
  let newest = 0;
  return {
    apply(record) {
      if (record.version <= newest) return false;
      newest = record.version;
      const decoded = decode(record);
      current =
        "problem" in decoded
          ? { ...current, problem: decoded.problem }
          : { value: decoded, version: record.version, problem: null };
      return true;
    },
    remove() {
      newest = 0;
      current = none;
    },
    current: () => current,
  };
}
