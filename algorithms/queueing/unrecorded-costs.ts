// Costs of answers that a process has seen and that may not stand in the table of all costs yet. An
// answer is there once the table has one of its partition with its offset or a higher one, for rows
// come in the order of their offsets. Bounded: where the table falls far behind, costs of
// neighbours become one, which counts as the later of them does.
import { costIn, type DayCost, type Window } from "./spend-limit.ts";

/** Of a partition; more are merged two by two. */
const mostEntries = 64;

export interface Unrecorded {
  /** Counts an answer, once however often it is told of. */
  add(partition: number, offset: number, cost: DayCost): void;
  /** The table has answers of the partition up to this offset. */
  recorded(partition: number, offset: number): void;
  costIn(window: Window): number;
  /** Entries held. */
  size(): number;
}

interface Entry extends DayCost {
  offset: number;
}

export function createUnrecorded(): Unrecorded {
  /** By partition: how far the table is, and what comes behind that, by rising offset. */
  const partitions = new Map<number, { upTo: number; entries: Entry[] }>();
  const of = (partition: number): { upTo: number; entries: Entry[] } => {
    const known = partitions.get(partition) ?? { upTo: -1, entries: [] };
    partitions.set(partition, known);
    return known;
  };
  const all = (): Entry[] => [...partitions.values()].flatMap(({ entries }) => entries);

  return {
    add(partition, offset, cost) {
      const its = of(partition);
      // Told of it before, or later than the table was.
      if (offset <= Math.max(its.upTo, its.entries.at(-1)?.offset ?? -1)) return;
      its.entries.push({ ...cost, offset });
      if (its.entries.length > mostEntries) its.entries = merged(its.entries);
    },
    recorded(partition, offset) {
      const its = of(partition);
      its.upTo = Math.max(its.upTo, offset);
      its.entries = its.entries.filter((entry) => entry.offset > its.upTo);
    },
    costIn: (window) => costIn(window, all()),
    size: () => all().length,
  };
}

/** Two neighbours in one, in the place of the later. */
const merged = (entries: readonly Entry[]): Entry[] =>
  entries.flatMap((entry, index) => {
    const next = entries[index + 1];
    if (index % 2 === 1) return [];
    return [next === undefined ? entry : { ...next, cost: entry.cost + next.cost }];
  });
