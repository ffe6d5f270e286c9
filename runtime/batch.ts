// What goes into the next transaction of a stage: what has finished, of all partitions in turn,
// within the bytes of one transaction.
import type { PartitionState, TaskEntry } from "./partition.ts";

export interface PartitionEntries {
  state: PartitionState;
  entries: TaskEntry[];
}

/** A transaction's outputs; a single larger record goes alone. */
const transactionBytes = 4 * 1024 * 1024;

export interface Batching {
  partitions: () => Iterable<PartitionState>;
  /** Entries of a refused transaction go one by one until the culprits are found. */
  suspects: Map<TaskEntry, PartitionState>;
}

/** Done entries. settling: positions that have moved without work go, too. */
export function collect({ partitions, suspects }: Batching, settling: boolean): PartitionEntries[] {
  const collected: PartitionEntries[] = [];
  let bytes = 0;
  // An entry whose dead letter was withheld has no bytes, and is one all the same.
  let taken = 0;
  for (const [entry, state] of suspects) if (state.dropped || entry.state === "committed") suspects.delete(entry);
  const isolate = suspects.size > 0;
  for (const state of partitions()) {
    const entries: TaskEntry[] = [];
    for (const entry of state.window.entries()) {
      if (entry.state !== "done") continue;
      const size = entry.item.messages.reduce((sum, m) => sum + (m.value?.length ?? 0) + 100, 0);
      if (taken > 0 && (bytes + size > transactionBytes || isolate)) break;
      entries.push(entry);
      taken++;
      bytes += size;
    }
    const moved = settling && state.window.position().offset > state.committed;
    if (entries.length > 0 || moved) collected.push({ state, entries });
  }
  return collected;
}
