// Names of the examples and documents that an arm has caches of, recorded from prompts and in a
// file beside the caches, since the store knows tokens only. Best effort.
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { createBloom } from "../../algorithms/numeric/bloom.ts";
import { cacheName, pieceName, tenantOf } from "../../algorithms/identity/identity.ts";
import { documentKey } from "../../connections/documents/port.ts";
import type { KvStore } from "../../connections/kv/port.ts";
import type { ArmInventory, Cached } from "../arm.ts";
import type { KeyedChunk } from "./variants.ts";
import type { PromptChunk } from "./prompt.ts";

export type Inventory = Awaited<ReturnType<typeof openInventory>>;

export interface InventoryOptions {
  store: Pick<KvStore, "list" | "stats">;
  /** Folder of the slow tier; null: names are held in memory only. */
  folder: string | null;
  log: Pick<Logger, "warn">;
  most?: number;
}

const fileName = "names.json";
const [exampleName, documentName] = [cacheName("example", ""), cacheName("document", "")];
/** A piece of a document has a name for each of its chunks: domains have their own. */
const pieceOf = (name: string): string => name.slice(documentName.length, name.lastIndexOf("/"));

export async function openInventory({ store, folder, log, most = 50_000 }: InventoryOptions) {
  const names = new LRUCache<string, string>({ max: most });
  /** Forgotten here, and perhaps in the file still. */
  const forgotten = new Set<string>();
  /** Forgotten names and their chunks: work that was under way may bring a cache back. */
  const gone = new LRUCache<string, string>({ max: most });
  let changed = false;
  let isFailing = false;
  let version: string | undefined;

  async function takeIn(file: string): Promise<void> {
    const now = await versionOf(file);
    if (now === undefined || now === version) return;
    version = now;
    for (const [name, chunk] of await readNames(file))
      if (!names.has(name) && !forgotten.has(name)) names.set(name, chunk);
  }
  if (folder !== null) await takeIn(join(folder, fileName));

  return {
    /** The chunks of one prompt of a sharing domain, in the same order. */
    seen(chunks: readonly PromptChunk[], keyed: readonly Pick<KeyedChunk, "chunk">[], domain: string): void {
      for (const [index, { kind, id, text = "" }] of chunks.entries()) {
        const chunk = keyed[index]?.chunk;
        if (chunk === undefined || id === null || kind === "system") continue;
        const piece = `${pieceName(documentKey(tenantOf(domain), id), text)}/${chunk.slice(0, 16)}`;
        const name = cacheName(kind, kind === "document" ? piece : id);
        changed ||= names.peek(name) !== chunk;
        gone.delete(name);
        names.set(name, chunk);
      }
    },
    summary(): ArmInventory {
      const bytesOf = new Map<string, number>();
      for (const { chunk, bytes } of store.list()) bytesOf.set(chunk, (bytesOf.get(chunk) ?? 0) + bytes);
      const there = [...names].filter(([, chunk]) => bytesOf.has(chunk));
      const { bits: bloom, hashes } = createBloom(new Set(there.map(([name]) => name)));
      const chunks = new Set(there.map(([, chunk]) => chunk));
      const bytes = [...chunks].reduce((sum, chunk) => sum + (bytesOf.get(chunk) ?? 0), 0);
      const { memoryHits, diskHits, misses, prefetched } = store.stats();
      const reads = { memoryHits, diskHits, misses, prefetched };
      return { bloom, hashes, chunks: there.length, bytes, reads };
    },
    /** What the store has a cache of, or one made behind it. */
    cached(): Cached {
      const there = new Set(store.list().flatMap(({ chunk, prefix }) => [chunk, ...prefix.map((one) => one.chunk)]));
      const named = new Set(names.values());
      const back = [...gone].filter(([, chunk]) => !named.has(chunk));
      const held = [...names, ...back].flatMap(([name, chunk]) => (there.has(chunk) ? name : []));
      const documents = new Set(held.flatMap((name) => (name.startsWith(documentName) ? pieceOf(name) : [])));
      return {
        examples: held.flatMap((name) => (name.startsWith(exampleName) ? name.slice(exampleName.length) : [])),
        documents: [...documents],
      };
    },
    /** Their names go; the chunks that they named. */
    forget({ examples, documents }: Cached): Set<string> {
      const pieces = new Set(documents);
      const named = new Set([
        ...examples.map((id) => cacheName("example", id)),
        ...[...names.keys(), ...gone.keys()].filter(
          (name) => name.startsWith(documentName) && pieces.has(pieceOf(name)),
        ),
      ]);
      const chunks = new Set<string>();
      for (const name of named) {
        const chunk = names.peek(name) ?? gone.peek(name);
        forgotten.add(name);
        changed = names.delete(name) || changed;
        if (chunk === undefined) continue;
        chunks.add(chunk);
        gone.set(name, chunk);
      }
      return chunks;
    },
    /**
     * Takes in the names of other processes of the folder, and writes down its own that changed.
     */
    async save(): Promise<void> {
      if (folder === null) return;
      const file = join(folder, fileName);
      await takeIn(file);
      if (!changed && forgotten.size === 0) return;
      changed = false;
      // Several processes may share the folder.
      const writing = `${file}.${process.pid}`;
      try {
        // The least recently seen first, in the order of reading.
        await writeFile(writing, JSON.stringify([...names].reverse()));
        await rename(writing, file);
        forgotten.clear();
        version = await versionOf(file);
        isFailing = false;
      } catch (error) {
        changed = true;
        if (!isFailing) log.warn({ err: error }, "the names of chunk caches can't be written");
        isFailing = true;
      }
    },
  };
}

/** Another one for every writing, though the clock of the disk stands; undefined: no file. */
async function versionOf(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found && `${found.ino} ${found.mtimeMs} ${found.size}`;
}

async function readNames(file: string): Promise<[name: string, chunk: string][]> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
    return Array.isArray(parsed) ? parsed.filter(isNamed) : [];
  } catch {
    return [];
  }
}

const isNamed = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");
