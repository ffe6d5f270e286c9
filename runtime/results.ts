// Results that were ready and not committed when their partition was lost. A broker that is slow or
// away for long costs a stage its membership, and often it gets the same partitions back: where the
// committed position is still the one that the results were made on, no other process has done the
// work meanwhile, and the results are good. Elsewhere they are thrown away. Kept until the next
// join at most.
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import { partitionKey, type PartitionState, type StoredPosition } from "./partition.ts";
import { same } from "./reconcile.ts";

export interface Results {
  /** Stores results of partitions about to be let go, forgetting former ones. */
  keep(states: readonly PartitionState[]): void;
  /** Gives a newly adopted partition the results that still hold. */
  restore(state: PartitionState): void;
}

export function createResults(): Results {
  const kept = new Map<string, { stored: StoredPosition; results: Map<number, OutgoingMessage[]> }>();
  return {
    keep(states) {
      kept.clear();
      for (const state of states) {
        // What was given back and is not delivered again yet is as good as it was.
        const results = new Map(state.results);
        for (const { offset, item, ...entry } of state.window.entries())
          if (entry.state === "done") results.set(offset, item.messages);
        if (results.size > 0) kept.set(partitionKey(state), { stored: state.stored, results });
      }
    },
    restore(state) {
      const found = kept.get(partitionKey(state));
      kept.delete(partitionKey(state));
      if (found !== undefined && same(found.stored, state.stored)) state.results = found.results;
    },
  };
}
