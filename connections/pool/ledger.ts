// What is held, by whom, and up to which offset. Every change runs inside one transaction of the store; what the vector indexes have to do
// about it is returned, by domain and key, in the state after the transaction, so that it can be applied (and repeated) in any order.
// The small figures kept in memory are read again from the store when a transaction fails.
import type { Example } from "../../schemas/types.ts";
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
import { decodeExample, decodeHolding, encodeExample, encodeHolding, encodeVector, slotOf } from "./records.ts";
import type { Holding } from "./records.ts";

/** By number of the domain, then key: the vector to be found, or null: nothing to be found there. */
export type Touched = Map<number, Map<number, Float32Array | null>>;
/** A partition, or whoever wrote it ahead of the topic. */
export type Holder = number | "ahead";

/** The store is not what this code wrote. */
export class DamagedStore extends Error {
  override name = "DamagedStore";
}

export type Ledger = ReturnType<typeof createLedger>;

/** onBroken: nothing less than a new store can mend it. */
export function createLedger(
  layout: Layout,
  header: Header,
  { clock, onBroken }: { clock: () => number; onBroken: (reason: string) => void },
) {
  const { root, ids, examples, vectors, pending, journal, free, ahead } = layout;
  let domains = new Map<number, DomainRow>();
  let numbers = new Map<string, number>();
  let partitions = new Map<number, Partition>();
  let counts = { held: 0, pending: 0, free: 0 };
  let touched: Touched = new Map();
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
      load();
      throw error;
    }
  }

  function touch(domain: number, key: number, vector: Float32Array | null): void {
    let keys = touched.get(domain);
    if (keys === undefined) touched.set(domain, (keys = new Map<number, Float32Array | null>()));
    keys.set(key, vector);
    if (domains.get(domain)?.journal !== true) return;
    const sequence = Buffer.alloc(8);
    sequence.writeDoubleLE(header.sequence);
    void journal.put(slotOf(domain, key), sequence);
  }
  function takeKey(): number {
    const [key] = counts.free > 0 ? Array.from(free.getKeys({ limit: 1 })) : [];
    if (key === undefined) return header.nextKey++;
    void free.remove(key);
    counts.free--;
    return key;
  }
  function countIn(domain: number, by: number): void {
    const row = domains.get(domain);
    if (row === undefined) return;
    row.count += by;
    changedDomains.add(domain);
    if (row.count > 0) return;
    domains.delete(domain);
    numbers.delete(row.name);
    lowestFree = Math.min(lowestFree, domain);
  }
  function numberOf(name: string): number {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    while (domains.has(lowestFree)) lowestFree++;
    domains.set(lowestFree, { name, count: 0, journal: false });
    numbers.set(name, lowestFree);
    return lowestFree;
  }
  /** undefined: not held. null: damaged. */
  function holdingOf(id: string): Holding | null | undefined {
    const bytes = ids.getBinaryFast(id);
    const holding = bytes && decodeHolding(id, bytes);
    if (holding === null) onBroken(`who holds ${id} is damaged`);
    return holding;
  }
  const putHolding = (id: string, holding: Holding): void => void ids.put(id, encodeHolding(id, holding));

  function setAhead(holding: Holding, isAhead: boolean): boolean {
    if (holding.ahead === isAhead) return false;
    holding.ahead = isAhead;
    void (isAhead ? ahead.put(holding.key, Buffer.alloc(0)) : ahead.remove(holding.key));
    return true;
  }
  function putVector(
    { domain, key }: Pick<Holding, "domain" | "key">,
    vector: Float32Array | null,
    expiresAt: number | null,
  ): void {
    const slot = slotOf(domain, key);
    if (vector === null) {
      void vectors.remove(slot);
      if (!pending.doesExist(key)) counts.pending++;
      void pending.put(key, Buffer.alloc(0));
    } else {
      void vectors.put(slot, encodeVector(slot, vector, expiresAt));
      if (pending.doesExist(key)) counts.pending--;
      void pending.remove(key);
    }
    touch(domain, key, vector);
  }

  /** Gives the reason when the id belongs to another domain. */
  function hold(example: Example, vector: Float32Array | null, by: Holder): string | null {
    const { id } = example;
    const known = holdingOf(id);
    const holding = known ?? { key: takeKey(), domain: numberOf(example.domain), ahead: false, partitions: [] };
    if (domains.get(holding.domain)?.name !== example.domain) return "its id belongs to an example of another domain";
    const { key } = holding;
    const row = encodeExample(key, example);
    // A view of its own: the fast buffer is longer than it says, and would equal nothing.
    const before = known && examples.getBinaryFast(key);
    // What one partition after the other brings is written once; and one that waits for its vector may be given it now.
    if (before?.subarray(0, before.length).equals(row) !== true || (vector !== null && pending.doesExist(key))) {
      void examples.put(key, row);
      putVector(holding, vector, example.expiresAt);
    }
    let changed = !known;
    if (changed) {
      counts.held++;
      countIn(holding.domain, 1);
    }
    if (by === "ahead") changed = setAhead(holding, true) || changed;
    else {
      changed = setAhead(holding, false) || changed;
      if (!holding.partitions.includes(by)) changed = holding.partitions.push(by) > 0;
    }
    if (changed) putHolding(id, holding);
    return null;
  }

  /** What a partition takes back: the example goes with its last holder. */
  function letGo(id: string, by: Holder, keepAhead: boolean): void {
    const holding = holdingOf(id);
    if (!holding) return;
    const at = by === "ahead" ? -1 : holding.partitions.indexOf(by);
    if (at >= 0) holding.partitions.splice(at, 1);
    const changed = (!keepAhead && setAhead(holding, false)) || at >= 0;
    if (holding.partitions.length === 0 && !holding.ahead) erase(id, holding);
    else if (changed) putHolding(id, holding);
  }

  function erase(id: string, { key, domain, ahead: isAhead }: Holding): void {
    void ids.remove(id);
    void examples.remove(key);
    void vectors.remove(slotOf(domain, key));
    if (pending.doesExist(key)) counts.pending--;
    void pending.remove(key);
    if (isAhead) void ahead.remove(key);
    void free.put(key, Buffer.alloc(0));
    counts.free++;
    counts.held--;
    touch(domain, key, null);
    countIn(domain, -1);
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
    counts: (): Readonly<typeof counts> => counts,
    domains: (): ReadonlyMap<number, DomainRow> => domains,
    numberOfDomain: (name: string): number | undefined => numbers.get(name),
    partitions: (): ReadonlyMap<number, Partition> => partitions,
    change,
    /** These change what is held, inside change(). */
    hold,
    letGo,
    erase(id: string): void {
      const holding = holdingOf(id);
      if (holding) erase(id, holding);
    },
    /** A tombstone is for its own domain alone: another tenant's example of that id is not touched by it. */
    isOf(id: string, domain: string): boolean {
      const holding = holdingOf(id);
      return !!holding && domains.get(holding.domain)?.name === domain;
    },
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
    putVector,
    holdingOf,
    touch,
    getExample(id: string): ReturnType<typeof decodeExample> | undefined {
      const holding = holdingOf(id);
      if (!holding) return undefined;
      const bytes = examples.getBinaryFast(holding.key);
      return bytes && decodeExample(holding.key, bytes);
    },
  };
}
