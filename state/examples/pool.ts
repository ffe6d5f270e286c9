// The pool: examples in a store off the heap, one vector index a domain, both on disk, so that a
// restart reads the topic's tail. Changes run in turn, searches meanwhile; without indexes
// nearest() rejects with VectorError index_unavailable.
import pLimit from "p-limit";
import type { Logger } from "pino";
import type { Waits } from "../../algorithms/queueing/backoff.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import type { VectorIndexes } from "../vectors/port.ts";
import { accept } from "./accept.ts";
import { createLastingIndexes } from "./lasting-indexes.ts";
import { createNearest } from "./nearest.ts";
import { openStore } from "./open-store.ts";
import { takeFolder } from "./owner.ts";
import type { ExampleChange, ExamplePool, RefusedExample } from "./port.ts";
import { createReadExamples } from "./read-examples.ts";
import { createReembed } from "./reembed.ts";
import type { Touched } from "./store-state.ts";
import type { Damage } from "./upkeep.ts";

export interface PoolOptions {
  folder: string;
  /** Whose vectors the pool holds. */
  embedder: Pick<Embedder, "model" | "dimension" | "embedAll">;
  openIndexes: () => Promise<VectorIndexes>;
  clusterId: string;
  /** How long the topic keeps tombstones (delete.retention.ms), ms. */
  maxAgeMs: number;
  log: Logger;
  clock?: () => number;
  /** Index files: how often they are looked at, and from which size. */
  save?: { everyMs: number; examples: number; changes: number };
  /** Milliseconds between attempts, doubling from first to last. */
  pause?: Waits;
}

/** Milliseconds that the event loop may be held by one transaction. */
const sliceMs = 8;
/** How often a partition that brings nothing counts as followed. */
const followedEveryMs = 60_000;

/** Rejects with PoolError folder_in_use. */
export async function createPool(options: PoolOptions): Promise<ExamplePool> {
  const { folder, embedder, openIndexes, log, clock = Date.now, pause = { first: 100, limit: 10_000 } } = options;
  const { save = { everyMs: 60_000, examples: 5_000, changes: 1_000 } } = options;
  const giveBack = await takeFolder(folder);
  const closing = new AbortController();
  const followed = new Set<number>();
  const damages = new Map<string, Damage>();
  const inTurn = pLimit(1);
  let saving: Promise<void> = Promise.resolve();

  const { layout, ledger, upkeep } = await openStore({ ...options, clock }).catch(async (error: unknown) => {
    await giveBack();
    throw error;
  });
  const onDamaged = (damage: Damage): void => {
    const name = JSON.stringify(damage);
    if (damages.has(name) || closing.signal.aborted) return;
    damages.set(name, damage);
    inTurn(() => upkeep.mend(damage, indexes.follow))
      .catch((error: unknown) => log.error({ err: error }, "a damaged record can't be taken out"))
      .finally(() => damages.delete(name));
  };
  const indexes = createLastingIndexes({
    ...{ layout, ledger, folder, openIndexes, log, inTurn, pause },
    closing: closing.signal,
    onDamaged: (slot) => onDamaged({ slot }),
  });
  const read = createReadExamples({ layout, ledger, onDamaged });
  const nearest = createNearest({ ledger, search: indexes.search, read });

  const inTurnAndFollow = (change: () => Promise<{ touched: Touched }>): Promise<void> =>
    inTurn(async () => indexes.follow((await change()).touched));

  const reembed = createReembed({
    ...{ layout, ledger, embedder, inTurn: inTurnAndFollow, log, pause },
    onDamaged: (key) => onDamaged({ key }),
  });

  /** Short transactions; `last` belongs to the one that ends the changes. */
  async function write<C>(all: readonly C[], one: (change: C) => void, last: () => void): Promise<void> {
    let done = 0;
    do {
      const from = done;
      const { touched } = await ledger.change(() => {
        const until = performance.now() + sliceMs;
        for (done = from; done < all.length && (done === from || performance.now() < until); done++) one(all[done]!);
        if (done >= all.length) last();
      });
      await indexes.follow(touched);
    } while (done < all.length);
    reembed.wake();
  }

  await inTurn(indexes.open);
  reembed.wake();
  const timer = setInterval(() => {
    saving = saving.then(() => indexes.save(save));
  }, save.everyMs).unref();
  const keepFollowed = (): Promise<unknown> =>
    inTurn(() =>
      ledger.change(() => {
        for (const partition of followed) {
          const state = ledger.partitions().get(partition);
          if (state !== undefined) ledger.setPartition(partition, { ...state, at: clock() });
        }
      }),
    );
  const heartbeat = setInterval(() => {
    keepFollowed().catch((error: unknown) => log.warn({ err: error }, "the state of the partitions can't be kept"));
  }, followedEveryMs).unref();
  const inspecting = upkeep.inspect(onDamaged, closing.signal).catch((error: unknown) => {
    if (!closing.signal.aborted) log.error({ err: error }, "the store of the examples can't be inspected");
  });

  return {
    position(partition) {
      const state = ledger.partitions().get(partition);
      if (state === undefined || state.damaged) return null;
      followed.add(partition);
      return BigInt(state.next);
    },
    apply: (partition, given, next) =>
      inTurn(async () => {
        const refused: RefusedExample[] = [];
        followed.add(partition);
        const one = ({ id, domain, value }: ExampleChange): void => {
          const reason = value === null ? null : hold(value, partition);
          if (reason !== null) refused.push({ id, reason });
          // A row that can't be held replaces the one before it all the same.
          if ((value === null || reason !== null) && ledger.isOf(id, domain)) ledger.letGo(id, partition, false);
        };
        await write(given, one, () => ledger.advance(partition, next));
        return refused;
      }),
    release: (partition) =>
      inTurn(async () => {
        followed.delete(partition);
        await upkeep.release(partition, indexes.follow);
      }),
    upsert: (given) =>
      inTurn(async () => {
        const refused: RefusedExample[] = [];
        await write(
          given,
          (example) => {
            const reason = hold(example, "ahead");
            if (reason !== null) refused.push({ id: example.id, reason });
          },
          () => undefined,
        );
        return refused;
      }),
    remove: (given) => inTurn(() => write(given, ledger.erase, () => undefined)),
    nearest: (domain, vector, k, now) => indexes.revive(() => nearest(domain, vector, k, now)),
    get(id) {
      const example = ledger.getExample(id);
      if (example === null) onDamaged({ key: ledger.holdingOf(id)?.key ?? 0 });
      return example ?? undefined;
    },
    holds: (domain) => ledger.numberOfDomain(domain) !== undefined,
    size: () => ledger.counts().held,
    figures: () => ({
      examples: ledger.counts().held,
      domains: ledger.domains().size,
      pending: reembed.waiting(),
      damaged: ledger.header.damaged,
      rebuilds: indexes.rebuilds(),
      indexes: indexes
        .figures()
        .sort((a, b) => b.figures.size - a.figures.size)
        .slice(0, 100),
    }),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      clearInterval(timer);
      clearInterval(heartbeat);
      await Promise.all([saving, reembed.close()]);
      await indexes.save(save);
      await keepFollowed().catch(() => undefined);
      // Behind every change that was asked for.
      await Promise.all([inTurn(() => undefined), inspecting]);
      await indexes.close();
      await layout.root.flushed;
      await layout.root.close();
      await giveBack();
    },
  };

  /** Gives the reason when it can't be. */
  function hold(example: ExampleChange["value"] & object, by: number | "ahead"): string | null {
    const accepted = accept(example, embedder);
    return "reason" in accepted ? accepted.reason : ledger.hold(example, accepted.vector, by);
  }
}
