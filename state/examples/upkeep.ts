// Work over the whole store in chunks between requests: forgetting partitions and vectors, dropping
// what was held ahead, finding damage.
import { setImmediate as yieldToOthers, setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import { decodeExample, decodeHolding, decodeVector, domainOf, keyOf, slotOf, type Holding } from "./records.ts";
import type { Touched } from "./store-state.ts";

type Follow = (touched: Touched) => Promise<void>;
/** Where a damaged record stands. */
export type Damage = { key: number } | { slot: number };
export type Upkeep = ReturnType<typeof createUpkeep>;

/** A few milliseconds of work. */
const atOnce = 1_000;
/** A fifth of a millisecond, so that a selection hardly waits. */
const inspectedAtOnce = 10;
const inspectPauseMs = 10;

export function createUpkeep({ layout, ledger, log }: { layout: Layout; ledger: Ledger; log: Logger }) {
  const { ids, examples, vectors, pending, ahead } = layout;

  async function* holdings(limit = atOnce): AsyncGenerator<{ id: string; holding: Holding | null }[]> {
    let start = "";
    for (;;) {
      const chunk = Array.from(ids.getRange({ start, limit }));
      const last = chunk.at(-1);
      if (last === undefined) return;
      yield chunk.map(({ key: id, value }) => ({ id, holding: decodeHolding(id, value) }));
      // No id has a character this small: the next one in order.
      start = `${last.key}\x01`;
      await yieldToOthers();
    }
  }

  async function holderOf(key: number): Promise<{ id: string; holding: Holding } | undefined> {
    for await (const chunk of holdings())
      for (const { id, holding } of chunk) if (holding?.key === key) return { id, holding };
    return undefined;
  }

  return {
    /** Forgets what only this partition brought; done again if broken off. */
    async release(partition: number, follow: Follow): Promise<void> {
      const state = ledger.partitions().get(partition);
      if (state === undefined) return;
      await ledger.change(() => ledger.setPartition(partition, { ...state, damaged: true }));
      for await (const chunk of holdings()) {
        const brought = chunk.filter(({ holding }) => holding?.partitions.includes(partition) === true);
        if (brought.length === 0) continue;
        const { touched } = await ledger.change(() => {
          for (const { id } of brought) ledger.letGo(id, partition, true);
        });
        await follow(touched);
      }
      await ledger.change(() => ledger.setPartition(partition, null));
    },

    /** The topic says what became of it. */
    async dropAhead(): Promise<void> {
      for (;;) {
        const keys = Array.from(ahead.getKeys({ limit: atOnce }));
        if (keys.length === 0) return;
        await ledger.change(() => {
          for (const key of keys) {
            const bytes = examples.getBinary(key);
            const id = bytes && decodeExample(key, bytes)?.id;
            if (id !== undefined) ledger.letGo(id, "ahead", false);
            void ahead.remove(key);
          }
        });
      }
    },

    /** Every example waits for a new vector then. */
    async forgetVectors(): Promise<void> {
      await ledger.change(() => {
        for (const domain of ledger.domains().keys()) ledger.setJournal(domain, false);
      });
      for (;;) {
        const slots = Array.from(vectors.getKeys({ limit: atOnce }));
        if (slots.length === 0) return;
        await ledger.change(() => {
          for (const slot of slots) ledger.putVector({ domain: domainOf(slot), key: keyOf(slot) }, null, null);
        });
      }
    },

    /** Takes a damaged example out; its partitions are read anew at the next start. */
    async mend(damage: Damage, follow: Follow): Promise<void> {
      const key = "key" in damage ? damage.key : keyOf(damage.slot);
      const found = await holderOf(key);
      const partitions = found?.holding.partitions ?? [];
      const { touched } = await ledger.change(() => {
        ledger.header.damaged++;
        for (const partition of partitions) {
          const state = ledger.partitions().get(partition);
          if (state !== undefined) ledger.setPartition(partition, { ...state, damaged: true });
        }
        if (found !== undefined) return ledger.erase(found.id);
        ledger.header.broken ??= `no partition holds example ${key}`;
        void examples.remove(key);
        if ("slot" in damage) {
          void vectors.remove(damage.slot);
          ledger.touch(domainOf(damage.slot), key, null);
        }
      });
      log.error(
        { example: found?.id ?? null, key, partitions, damaged: ledger.header.damaged },
        "a record of an example is damaged: it is left out, and read from the topic again at the next start",
      );
      await follow(touched);
    },

    /** Reads everything once, slowly (a fiftieth of a core), for damage. */
    async inspect(onDamaged: (damage: Damage) => void, signal: AbortSignal): Promise<void> {
      const vector = new Float32Array(ledger.header.dimension);
      for await (const chunk of holdings(inspectedAtOnce)) {
        await sleep(inspectPauseMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        for (const { id, holding } of chunk) {
          // Damaged itself, which the ledger tells, or changed since the chunk was read.
          const now = ledger.holdingOf(id);
          if (!now || now.key !== holding?.key) continue;
          const { key, domain } = holding;
          const slot = slotOf(domain, key);
          const text = examples.getBinaryFast(key);
          if (text === undefined || decodeExample(key, text)?.id !== id) onDamaged({ key });
          else if (!pending.doesExist(key)) {
            const bytes = vectors.getBinaryFast(slot);
            if (bytes === undefined || decodeVector(slot, bytes, vector) === null) onDamaged({ slot });
          }
        }
      }
    },
  };
}
