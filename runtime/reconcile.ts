// What became of a transaction whose outcome nobody told: the committed position says it, partition by partition. What was finished or is under
// way is kept, so that a slow broker costs no second model call. Pure.
import type { PartitionState, StoredPosition } from "./partition.ts";

/** What a transaction would have committed of a partition. */
export interface Attempt {
  state: PartitionState;
  position: StoredPosition & { offset: number };
}

/**
 * committed: the transaction went through; undone: nothing of it did, the same may be sent again;
 * unknown: somebody else has moved the position, what is held of the partition means nothing.
 */
export type Outcome = "committed" | "undone" | "unknown";

/** before: as the broker had it before the attempt; found: read after the producer was initialised, when no transaction of it is open. */
export function outcomeOf(attempted: StoredPosition, before: StoredPosition, found: StoredPosition): Outcome {
  if (same(found, attempted)) return "committed";
  return same(found, before) ? "undone" : "unknown";
}

export const same = (one: StoredPosition, other: StoredPosition): boolean =>
  one.offset === other.offset && one.metadata === other.metadata;
