// Who a record is: ids, times and sharing domains, by one function for every stage, so that all of them agree.
import { createHash } from "node:crypto";
import type { Request } from "../schemas/types.ts";

/** Where a record stands; the shape of runtime's Position, which algorithms may not import. */
export interface RecordPosition {
  topic: string;
  partition: number;
  offset: number;
}

export const positionText = ({ topic, partition, offset }: RecordPosition): string => `${topic}-${partition}-${offset}`;

/** A request without id (absent or empty) is named by its position, without createdAt dated by the Kafka timestamp. */
export function identify<R extends Pick<Request, "id" | "createdAt">>(
  request: R,
  position: RecordPosition,
  timestamp: number,
): R & { id: string; createdAt: number } {
  const id = request.id === null || request.id === "" ? positionText(position) : request.id;
  return { ...request, id, createdAt: request.createdAt ?? timestamp };
}

/** Lone surrogates can't be encoded; Avro strings hold none. */
const escape = (name: string): string => encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\ufffd"));

/** tenant/domain; null or empty is the domain "default". Both are percent-encoded, so that no name can forge another tenant's domain. */
export const sharingDomain = (tenant: string, domain: string | null): string =>
  `${escape(tenant)}/${escape(domain === null || domain === "" ? "default" : domain)}`;

/** Milliseconds since the epoch at which nobody needs the answer any more. */
export const deadlineOf = (request: Pick<Request, "allow"> & { createdAt: number }, defaultMs: number): number =>
  request.createdAt + (request.allow.deadlineMs ?? defaultMs);

/** The same pair in the same domain is the same example, however often it is admitted. 32 hex digits. */
export const exampleId = (domain: string, request: string, response: string): string =>
  createHash("sha256")
    .update(JSON.stringify([domain, request, response]))
    .digest("hex")
    .slice(0, 32);

/** How an inventory of caches names what a cache is of; an example's id is its own domain's. */
export const cacheName = (kind: "example" | "document", id: string): string => `${kind}/${id}`;
