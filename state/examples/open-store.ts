// Opens a pool's store, or begins with an empty one: another version or cluster, older than
// tombstones, damaged, or deadly to open. One unsure partition is dropped alone.
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { messageOf } from "../../connections/errors.ts";
import { beginAnewIfErased } from "./erased.ts";
import { reasonAgainstFile } from "./store-file.ts";
import {
  openLayout,
  pageSize,
  readHeader,
  storeFile,
  readPartitions,
  storeVersion,
  type Header,
  type Layout,
} from "./layout.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createUpkeep, type Upkeep } from "./upkeep.ts";

export interface Store {
  layout: Layout;
  ledger: Ledger;
  upkeep: Upkeep;
}

export interface StoreOptions {
  folder: string;
  embedder: { model: string; dimension: number };
  clusterId: string;
  maxAgeMs: number;
  clock: () => number;
  log: Logger;
}

/** A process that dies opening a store leaves a mark; so many end it. */
const attemptsAllowed = 3;

export async function openStore(options: StoreOptions): Promise<Store> {
  const { folder, embedder, clusterId, maxAgeMs, clock, log } = options;
  await beginAnewIfErased(folder, clock(), log);
  const attempts = join(folder, "opening");
  const attempt = 1 + Number(await readFile(attempts, "utf8").catch(() => "0"));
  await writeFile(attempts, String(attempt));
  let refused =
    attempt > attemptsAllowed
      ? `${attemptsAllowed} processes died while they opened it`
      : await reasonAgainstFile(storeFile(folder), pageSize);
  for (;;) {
    if (refused !== null) {
      log.warn({ folder, reason: refused }, "the local snapshot of the examples is refused: reading the topic anew");
      await rm(join(folder, "store"), { recursive: true, force: true });
    }
    await mkdir(join(folder, "store"), { recursive: true });
    let layout: Layout | undefined;
    try {
      layout = openLayout(folder);
      const header = readHeader(layout);
      refused = header === undefined ? null : reasonAgainst(layout, header);
      if (refused === null) {
        const used = header ?? {
          ...{ version: storeVersion, store: randomUUID(), clusterId, createdAt: clock() },
          ...{
            model: embedder.model,
            dimension: embedder.dimension,
            sequence: 0,
            nextKey: 1,
            damaged: 0,
            broken: null,
          },
        };
        const store = await begin(layout, used, options);
        await rm(attempts, { force: true });
        return store;
      }
    } catch (error) {
      // An empty store that can't be opened is not the store's fault: no room, no rights.
      if (refused !== null) throw error;
      refused = messageOf(error);
    }
    await layout?.root.close();
  }

  function reasonAgainst(layout: Layout, header: Header | null): string | null {
    if (header === null) return "its header is damaged";
    if (header.version !== storeVersion) return `it has version ${header.version}, this is ${storeVersion}`;
    if (header.clusterId !== clusterId)
      return `it belongs to the Kafka cluster ${header.clusterId}, this is ${clusterId}`;
    if (header.broken !== null) return header.broken;
    const partitions = readPartitions(layout);
    if (partitions === null) return "the state of a partition is damaged";
    const newest = Math.max(...[...partitions.values()].map(({ at }) => at));
    if (partitions.size > 0 && clock() - newest > maxAgeMs) return tooOld(clock() - newest, maxAgeMs);
    return null;
  }
}

async function begin(layout: Layout, header: Header, options: StoreOptions): Promise<Store> {
  const { embedder, maxAgeMs, clock, log } = options;
  const onBroken = (reason: string): void => {
    if (header.broken !== null) return;
    header.broken = reason;
    header.damaged++;
    log.error({ reason }, "the store of the examples is damaged: it is made anew at the next start");
  };
  const ledger = createLedger(layout, header, { clock, onBroken });
  const upkeep = createUpkeep({ layout, ledger, log });
  if (header.model !== embedder.model || header.dimension !== embedder.dimension) {
    log.warn({ from: header.model, to: embedder.model, examples: ledger.counts().held }, "the embedding model changed");
    await upkeep.forgetVectors();
    header.model = embedder.model;
    header.dimension = embedder.dimension;
  }
  // The header of a new store with it.
  await ledger.change(() => undefined);
  await upkeep.dropAhead();
  for (const [partition, { at, damaged }] of [...ledger.partitions()]) {
    if (!damaged && clock() - at <= maxAgeMs) continue;
    const reason = damaged ? "a record of it was damaged" : tooOld(clock() - at, maxAgeMs);
    log.warn({ partition, reason }, "a partition's examples are dropped from the local snapshot: reading it anew");
    await upkeep.release(partition, () => Promise.resolve());
  }
  return { layout, ledger, upkeep };
}

const tooOld = (age: number, allowed: number): string =>
  `it was last followed ${Math.round(age / 60_000)} minutes ago, tombstones are kept for ${Math.round(allowed / 60_000)}`;
