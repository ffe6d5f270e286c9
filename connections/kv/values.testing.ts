// Values for the tests of the store: entries whose keys are those of their content, and stores in
// folders of their own.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDisk } from "./disk.ts";
import { chunkKey, everybody, formatKey, variantKey } from "./keys.ts";
import type { Convention, KvEntry, PrefixChunk } from "./port.ts";
import { type KvStoreOptions, openKvStore } from "./store.ts";

export const format = formatKey({ build: "b", model: "m", kvType: "f16/f16", flashAttention: true });

/** Entry number n; another prefix or convention is another variant of the same chunk. */
export function anEntry(n: number, prefix: PrefixChunk[] = [], convention: Convention = "seen") {
  const chunk = chunkKey(format, everybody, [n, n + 1]);
  const key = variantKey(format, { chunk, convention, prefix });
  return { key, chunk, convention, prefix, tokens: 2 } satisfies Omit<KvEntry, "bytes" | "createdAt">;
}

export const blobOf = (n: number, bytes = 10): Uint8Array => new Uint8Array(bytes).fill(n);

export const aFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "precedent-kv-"));

/** In memory only, or with its slow tier under `root`. */
export async function aStore({ root, ...options }: Partial<KvStoreOptions> & { root?: string } = {}) {
  const disk = root === undefined ? null : await openDisk(root, format);
  const log = { warn: () => undefined };
  return openKvStore({ format, memoryBytes: 100, disk, diskBytes: 1_000, clock: () => 1_000, log, ...options });
}
