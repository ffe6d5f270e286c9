// How long a name that a client gives may be, and what stands for one that is longer: names are
// keys of topics, tables and memories.
import { hash } from "node:crypto";

/** UTF-8 bytes of an id, a tenant, a domain or whatever else is a name. */
export const nameBytes = 256;

export const bytesOf = (text: string): number => Buffer.byteLength(text);

/** A UTF-16 unit has three bytes at most, so most names need not be measured. */
export const isTooLong = (name: string): boolean => name.length * 3 > nameBytes && bytesOf(name) > nameBytes;

/** The name, or one of fixed length made of it, so that its owner can still be answered. */
export const shortName = (name: string): string => (isTooLong(name) ? `sha256:${hash("sha256", name)}` : name);

/** The tenant of a record of any kind, as an erasure looks for it; undefined: it names none. */
export function tenantIn(record: object | undefined): string | undefined {
  const { tenant } = (record ?? {}) as { tenant?: unknown };
  return typeof tenant === "string" ? shortName(tenant) : undefined;
}

/** Error message that lists the names that are too long; null: none. */
export function nameProblem(names: Readonly<Record<string, string | null | undefined>>): string | null {
  const long = Object.entries(names).flatMap(([field, name]) =>
    typeof name === "string" && isTooLong(name) ? [`${field} has ${bytesOf(name)} bytes`] : [],
  );
  return long.length === 0 ? null : `${long.join(", ")}, and a name may have ${nameBytes}.`;
}

/** Bytes of metadata at most: of a request, and of what is recorded alone (observed, imported). */
export const mostMetadataBytes = { request: 16_384, recorded: 65_536 };

export const metadataBytes = (metadata: Readonly<Record<string, string>>): number =>
  Object.entries(metadata).reduce((sum, [key, value]) => sum + bytesOf(key) + bytesOf(value), 0);
