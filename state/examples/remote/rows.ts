// Examples as rows of a Milvus collection. Keys and groups are digests: no name or id that a tenant
// chooses becomes part of an expression. A row belongs to one record of the topic: a key has the
// partition in it, so that a tombstone takes away what its own partition brought.
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { type MilvusRow, mostTextBytes } from "../../../connections/milvus/port.ts";
import type { Example } from "../../../schemas/types.ts";
import type { HeldExample } from "../port.ts";

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);

/** recordKey: tenant/domain/id, as on the topic. */
export const keyOf = (partition: number, recordKey: string): string => digestOf(`${partition}/${recordKey}`);
export const groupOf = (domain: string): string => digestOf(`domain ${domain}`);

export function rowOf(
  { embedding: _embedding, embeddingModel: _model, ...example }: Example,
  vector: Float32Array,
  { key, generation }: Pick<MilvusRow, "key" | "generation">,
): MilvusRow | { reason: string } {
  const text = JSON.stringify(example satisfies HeldExample);
  const bytes = Buffer.byteLength(text);
  if (bytes > mostTextBytes) return { reason: `it has ${bytes} bytes, Milvus takes ${mostTextBytes}` };
  const stamp = crc32(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), crc32(text));
  const expiresAt = example.expiresAt ?? Number.MAX_SAFE_INTEGER;
  return { key, group: groupOf(example.domain), generation, expiresAt, stamp, text, vector };
}

/** undefined: rowOf did not write it. */
export function exampleOf({ text }: Pick<MilvusRow, "text">): HeldExample | undefined {
  try {
    const example = JSON.parse(text) as Partial<HeldExample> | null;
    const { id, domain, request, response } = example ?? {};
    const isWhole = [id, domain, request, response].every((one) => typeof one === "string");
    return isWhole ? (example as HeldExample) : undefined;
  } catch {
    return undefined;
  }
}

const stateKey = digestOf("state");

/** Source and progress of the rows. curate writes it, as one row, after the rows themselves. */
export interface TableState {
  topic: string;
  /** Ids of cluster and topic, by which offsets mean something. */
  cluster: string;
  topicId: string;
  model: string;
  dimension: number;
  /** Generation of its rows; each rebuild has a new one. */
  generation: number;
  /** When it was last written, milliseconds since the epoch. */
  at: number;
  /** Index: partition number. */
  partitions: PartitionState[];
}

export interface PartitionState {
  /** All records before it are in the collection. */
  next: number;
  /** Older value of next, from a time that no search is behind. */
  settled: number;
  /** It was read to its end once, so all tombstones up to then are applied. */
  filled: boolean;
}

const version = 1;

export function stateRow({ partitions, ...state }: TableState): MilvusRow {
  const text = JSON.stringify({
    ...{ version, ...state },
    partitions: partitions.map(({ next, settled, filled }) => [next, settled, filled ? 1 : 0]),
  });
  const vector = new Float32Array(state.dimension);
  vector[0] = 1;
  return { key: stateKey, group: stateKey, generation: 0, expiresAt: 0, stamp: crc32(text), text, vector };
}

/** null: there is none, or one of another version or program. */
export function stateOf(rows: readonly MilvusRow[]): TableState | null {
  const text = rows.find(({ key }) => key === stateKey)?.text;
  if (text === undefined) return null;
  try {
    const { version: found, partitions, ...state } = JSON.parse(text) as Stored;
    if (found !== version) return null;
    const read = partitions.map(([next, settled, filled]) => ({ next, settled, filled: filled === 1 }));
    return { ...state, partitions: read };
  } catch {
    return null;
  }
}
type Stored = Omit<TableState, "partitions"> & { version: number; partitions: [number, number, number][] };
export const stateKeys: readonly string[] = [stateKey];

/** Curate writes the state at least every minute; tombstones stay a day on the topic. */
export const staleMs = 0.9 * 86_400_000;
