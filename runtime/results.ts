// Results that were ready when their partition was lost. Where it comes back with the committed
// position they were made on, they are good. Kept until the next join at most.
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import { partitionKey, type PartitionState, type StoredPosition } from "./partition.ts";
import { same } from "./reconcile.ts";

export function createResults() {
  const kept = new Map<string, { stored: StoredPosition; results: Map<number, OutgoingMessage[]> }>();
  return {
    /** Stores results of partitions about to be let go, forgetting former ones. */
    keep(states: readonly PartitionState[]): void {
      kept.clear();
      for (const state of states) {
        // What was given back and is not delivered again yet is as good as it was.
        const results = new Map(state.results);
        for (const { offset, item, ...entry } of state.window.entries())
          if (entry.state === "done") results.set(offset, item.messages);
        if (results.size > 0) kept.set(partitionKey(state), { stored: state.stored, results });
      }
    },
    /** Gives a newly adopted partition the results that still hold. */
    restore(state: PartitionState): void {
      const found = kept.get(partitionKey(state));
      kept.delete(partitionKey(state));
      if (found !== undefined && same(found.stored, state.stored)) state.results = found.results;
    },
  };
}
