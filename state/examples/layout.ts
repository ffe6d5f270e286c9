// The pool's store: one memory-mapped LMDB environment, off the heap. Copy on write: a kill leaves
// the last transaction's state.
import { join } from "node:path";
import { open, type Database } from "lmdb";
import { withoutBatches } from "../../connections/lmdb/errors.ts";
import { decodeJson, encodeJson } from "./records.ts";

/** Raised when the bytes change their meaning; a store of another version is built anew. */
export const storeVersion = 2;

export interface Header {
  version: number;
  /** A random name: index files of another store are not for this one. */
  store: string;
  /** Cluster id of Kafka: offsets mean nothing on another. */
  clusterId: string;
  model: string;
  dimension: number;
  createdAt: number;
  /** Raised by every transaction; index files and the journal say by it what they know. */
  sequence: number;
  nextKey: number;
  damaged: number;
  /** Why it has to be made anew at the next start; null: it has not. */
  broken: string | null;
}

export interface Partition {
  /** A bigint as text. */
  next: string;
  at: number;
  /** A record that it brought was damaged, or it is being released: it has to be read again. */
  damaged: boolean;
}

export interface DomainRow {
  name: string;
  count: number;
  /** Changes are kept in the journal, because there is an index file that doesn't know them. */
  journal: boolean;
}

export type Layout = ReturnType<typeof openLayout>;

/** 16 KiB take 19 vectors of 384 halves; 4 KiB would take 4. */
export const pageSize = 16_384;
export const storeFile = (folder: string): string => join(folder, "store", "data.mdb");

/** Resolves at the commit: a power cut may lose the last transactions, whole. */
export function openLayout(folder: string) {
  const options = { ...withoutBatches, path: join(folder, "store"), encoding: "binary", pageSize, maxDbs: 12 } as const;
  // Without noMemInit, which writes what the memory held before: another tenant's text, or a key.
  const root = open<Buffer, string>({ ...options, separateFlushed: true });
  const byText = (name: string): Database<Buffer, string> => root.openDB<Buffer, string>({ name, encoding: "binary" });
  const byNumber = (name: string, keyEncoding: "uint32" | "ordered-binary"): Database<Buffer, number> =>
    root.openDB<Buffer, number>({ name, encoding: "binary", keyEncoding });
  return {
    root,
    /** "header", and "partition/<number>". */
    meta: byText("meta"),
    ids: byText("ids"),
    domains: byNumber("domains", "uint32"),
    /** Key to everything but the vector. */
    examples: byNumber("examples", "uint32"),
    /** Slot (domain and key) to expiry and vector; missing while it is pending. */
    vectors: byNumber("vectors", "ordered-binary"),
    pending: byNumber("pending", "uint32"),
    /** The journal: slots that changed, with the sequence of their last change. */
    journal: byNumber("journal", "ordered-binary"),
    /** Keys that were used and are not any more. */
    free: byNumber("free", "uint32"),
    ahead: byNumber("ahead", "uint32"),
  };
}

const partitionName = (partition: number): string => `partition/${partition}`;
const domainName = (domain: number): string => `domain/${domain}`;

/** undefined: a store that was never used. null: damaged. */
export function readHeader({ meta }: Layout): Header | null | undefined {
  const bytes = meta.getBinary("header");
  return bytes && decodeJson<Header>("header", bytes);
}
/** These put what they are given into the transaction that is under way. */
export const putHeader = ({ meta }: Layout, header: Header): void =>
  void meta.put("header", encodeJson("header", header));
export const putPartition = ({ meta }: Layout, partition: number, state: Partition): void =>
  void meta.put(partitionName(partition), encodeJson(partitionName(partition), state));
export const removePartition = ({ meta }: Layout, partition: number): void =>
  void meta.remove(partitionName(partition));
export const putDomain = ({ domains }: Layout, domain: number, row: DomainRow): void =>
  void domains.put(domain, encodeJson(domainName(domain), row));

/** null: one of them is damaged. */
export function readPartitions({ meta }: Layout): Map<number, Partition> | null {
  const partitions = new Map<number, Partition>();
  for (const { key, value } of meta.getRange({ start: "partition/", end: "partition0" })) {
    const state = decodeJson<Partition>(key, value);
    if (state === null) return null;
    partitions.set(Number(key.slice("partition/".length)), state);
  }
  return partitions;
}
export function readDomains({ domains }: Layout): Map<number, DomainRow> | null {
  const rows = new Map<number, DomainRow>();
  for (const { key, value } of domains.getRange()) {
    const row = decodeJson<DomainRow>(domainName(key), value);
    if (row === null) return null;
    rows.set(key, row);
  }
  return rows;
}

export const entriesIn = (database: Database<Buffer, number> | Database<Buffer, string>): number =>
  // lmdb's own types leave the statistics open.
  (database.getStats() as { entryCount: number }).entryCount;
