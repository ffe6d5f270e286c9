// The store's small figures in memory: domains, partitions, sizes. They change with its
// transactions, and note what the vector indexes have to do.
import { commitFailure } from "../../connections/lmdb/errors.ts";
import {
  entriesIn,
  putDomain,
  putHeader,
  putPartition,
  readDomains,
  readPartitions,
  removePartition,
} from "./layout.ts";
import type { DomainRow, Header, Layout, Partition } from "./layout.ts";
import { slotOf } from "./records.ts";

/** By domain's number, then key: the vector to be found, or null. */
export type Touched = Map<number, Map<number, Float32Array | null>>;

export interface Counts {
  held: number;
  pending: number;
  /** Keys that can be given again. */
  free: number;
}

/** The store is not what this code wrote. */
class DamagedStore extends Error {
  override name = "DamagedStore";
}

export function createStoreState(layout: Layout, header: Header, clock: () => number) {
  const { root, ids, pending, journal, free } = layout;
  let domains = new Map<number, DomainRow>();
  let numbers = new Map<string, number>();
  let partitions = new Map<number, Partition>();
  let counts: Counts = { held: 0, pending: 0, free: 0 };
  let touched: Touched = new Map();
  let onTouched: (touched: Touched) => void = () => undefined;
  let changedDomains = new Set<number>();
  let lowestFree = 0;

  function load(): void {
    const [rows, states] = [readDomains(layout), readPartitions(layout)];
    if (rows === null || states === null) throw new DamagedStore("the list of its domains or partitions is damaged");
    domains = rows;
    partitions = states;
    numbers = new Map([...rows].map(([number, { name }]) => [name, number]));
    counts = { held: entriesIn(ids), pending: entriesIn(pending), free: entriesIn(free) };
    lowestFree = 0;
  }
  load();

  /** Runs it whole or not at all. */
  async function change<T>(action: () => T): Promise<{ result: T; touched: Touched }> {
    touched = new Map();
    changedDomains = new Set();
    const before = { ...header };
    try {
      const result = await root.childTransaction(() => {
        header.sequence++;
        const made = action();
        for (const number of changedDomains) {
          const row = domains.get(number);
          if (row === undefined) void layout.domains.remove(number);
          else putDomain(layout, number, row);
        }
        putHeader(layout, header);
        return made;
      });
      return { result, touched };
    } catch (error) {
      Object.assign(header, before);
      const reason = await commitFailure(error, "the store of the examples");
      load();
      throw reason;
    } finally {
      onTouched(touched);
    }
  }

  function setPartition(partition: number, state: Partition | null): void {
    if (state === null) {
      removePartition(layout, partition);
      partitions.delete(partition);
    } else {
      putPartition(layout, partition, state);
      partitions.set(partition, state);
    }
  }

  return {
    header,
    counts: (): Readonly<Counts> => counts,
    domains: (): ReadonlyMap<number, DomainRow> => domains,
    numberOfDomain: (name: string): number | undefined => numbers.get(name),
    partitions: (): ReadonlyMap<number, Partition> => partitions,
    change,
    onTouched(listener: (touched: Touched) => void): void {
      onTouched = listener;
    },

    // What follows belongs inside change().
    setPartition,
    /** Its offset, with the changes of the same transaction. */
    advance(partition: number, next: bigint): void {
      const damaged = partitions.get(partition)?.damaged ?? false;
      setPartition(partition, { next: String(next), at: clock(), damaged });
    },
    setJournal(domain: number, isOn: boolean): void {
      const row = domains.get(domain);
      if (row === undefined) return;
      row.journal = isOn;
      changedDomains.add(domain);
    },
    touch(domain: number, key: number, vector: Float32Array | null): void {
      let keys = touched.get(domain);
      if (keys === undefined) touched.set(domain, (keys = new Map<number, Float32Array | null>()));
      keys.set(key, vector);
      if (domains.get(domain)?.journal !== true) return;
      const sequence = Buffer.alloc(8);
      sequence.writeDoubleLE(header.sequence);
      void journal.put(slotOf(domain, key), sequence);
    },
    numberFor(name: string): number {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      while (domains.has(lowestFree)) lowestFree++;
      domains.set(lowestFree, { name, count: 0, journal: false });
      numbers.set(name, lowestFree);
      return lowestFree;
    },
    /** One example more or less; the domain goes with its last. */
    countExample(domain: number, by: 1 | -1): void {
      counts.held += by;
      const row = domains.get(domain);
      if (row === undefined) return;
      row.count += by;
      changedDomains.add(domain);
      if (row.count > 0) return;
      domains.delete(domain);
      numbers.delete(row.name);
      lowestFree = Math.min(lowestFree, domain);
    },
    setPending(key: number, isPending: boolean): void {
      if (pending.doesExist(key) !== isPending) counts.pending += isPending ? 1 : -1;
      void (isPending ? pending.put(key, Buffer.alloc(0)) : pending.remove(key));
    },
    takeKey(): number {
      const [key] = counts.free > 0 ? Array.from(free.getKeys({ limit: 1 })) : [];
      if (key === undefined) return header.nextKey++;
      void free.remove(key);
      counts.free--;
      return key;
    },
    giveKeyBack(key: number): void {
      void free.put(key, Buffer.alloc(0));
      counts.free++;
    },
  };
}
