// What is held, and by whom. Changes are transactions; what indexes have to do is returned as the
// state after it, so that it can be repeated in any order.
import type { Example } from "../../schemas/types.ts";
import type { Header, Layout } from "./layout.ts";
import { decodeExample, decodeHolding, encodeExample, encodeHolding, encodeVector, slotOf } from "./records.ts";
import type { Holding } from "./records.ts";
import { createStoreState } from "./store-state.ts";

/** A partition, or `ahead`: upsert() wrote the example ahead of the topic. */
export type Holder = number | "ahead";

export type Ledger = ReturnType<typeof createLedger>;

/** onBroken: nothing less than a new store can mend it. */
export function createLedger(
  layout: Layout,
  header: Header,
  { clock, onBroken }: { clock: () => number; onBroken: (reason: string) => void },
) {
  const { ids, examples, vectors, pending, ahead } = layout;
  const state = createStoreState(layout, header, clock);

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
    if (vector === null) void vectors.remove(slot);
    else void vectors.put(slot, encodeVector(slot, vector, expiresAt));
    state.setPending(key, vector === null);
    state.touch(domain, key, vector);
  }

  /** Gives the reason when the id belongs to another domain. */
  function hold(example: Example, vector: Float32Array | null, by: Holder): string | null {
    const { id } = example;
    const known = holdingOf(id);
    const holding = known ?? {
      key: state.takeKey(),
      domain: state.numberFor(example.domain),
      ahead: false,
      partitions: [],
    };
    if (state.domains().get(holding.domain)?.name !== example.domain)
      return "its id belongs to an example of another domain";
    const { key } = holding;
    const row = encodeExample(key, example);
    // A view of its own: the fast buffer is longer than it says, and would equal nothing.
    const before = known && examples.getBinaryFast(key);
    // What one partition after the other brings is written once; and one that waits for its vector
    // may be given it now.
    if (before?.subarray(0, before.length).equals(row) !== true || (vector !== null && pending.doesExist(key))) {
      void examples.put(key, row);
      putVector(holding, vector, example.expiresAt);
    }
    let changed = !known;
    if (changed) state.countExample(holding.domain, 1);
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
    state.setPending(key, false);
    if (isAhead) void ahead.remove(key);
    state.giveKeyBack(key);
    state.touch(domain, key, null);
    state.countExample(domain, -1);
  }

  const { counts, domains, numberOfDomain, partitions, change, onTouched } = state;
  const { setPartition, advance, setJournal, touch } = state;
  return {
    ...{ header, counts, domains, numberOfDomain, partitions, change, onTouched },
    ...{ setPartition, advance, setJournal, touch },
    /** These change what is held, inside change(). */
    hold,
    letGo,
    erase(id: string): void {
      const holding = holdingOf(id);
      if (holding) erase(id, holding);
    },
    putVector,
    /** A tombstone is for its own domain alone. */
    isOf(id: string, domain: string): boolean {
      const holding = holdingOf(id);
      return !!holding && domains().get(holding.domain)?.name === domain;
    },
    holdingOf,
    getExample(id: string): ReturnType<typeof decodeExample> | undefined {
      const holding = holdingOf(id);
      if (!holding) return undefined;
      const bytes = examples.getBinaryFast(holding.key);
      return bytes && decodeExample(holding.key, bytes);
    },
  };
}
