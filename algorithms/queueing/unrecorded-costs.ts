// Costs of answers seen by a process that the table may not have yet: it has one once it has an
// equal or higher offset of its partition. Bounded: neighbours are merged.
import { costIn, type DayCost, type Window } from "./spend-limit.ts";

/** Maximum entries per partition; beyond it, neighbours are merged in pairs. */
const mostEntries = 64;

export type Unrecorded = ReturnType<typeof createUnrecorded>;

interface Entry extends DayCost {
  offset: number;
}

export function createUnrecorded() {
  /** By partition: how far the table is, and what comes behind that, by rising offset. */
  const partitions = new Map<number, { upTo: number; entries: Entry[] }>();
  const of = (partition: number): { upTo: number; entries: Entry[] } => {
    const known = partitions.get(partition) ?? { upTo: -1, entries: [] };
    partitions.set(partition, known);
    return known;
  };
  const all = (): Entry[] => [...partitions.values()].flatMap(({ entries }) => entries);

  return {
    /** Adds the cost of an answer; idempotent. */
    add(partition: number, offset: number, cost: DayCost): void {
      const its = of(partition);
      // Already counted here or in the table.
      if (offset <= Math.max(its.upTo, its.entries.at(-1)?.offset ?? -1)) return;
      its.entries.push({ ...cost, offset });
      if (its.entries.length > mostEntries) its.entries = merged(its.entries);
    },
    /** The table has answers of the partition up to this offset. */
    recorded(partition: number, offset: number): void {
      const its = of(partition);
      its.upTo = Math.max(its.upTo, offset);
      its.entries = its.entries.filter((entry) => entry.offset > its.upTo);
    },
    costIn: (window: Window): number => costIn(window, all()),
    size: (): number => all().length,
  };
}

const merged = (entries: readonly Entry[]): Entry[] =>
  entries.flatMap((entry, index) => {
    const next = entries[index + 1];
    if (index % 2 === 1) return [];
    return [next === undefined ? entry : { ...next, cost: entry.cost + next.cost }];
  });
