// Who a record is: ids, times and sharing domains, by one function for all stages.
import { hash } from "node:crypto";
import { shortName } from "./names.ts";
import type { Request, Work } from "../../schemas/types.ts";

/** Where a record stands; the shape of runtime's Position, which algorithms may not import. */
export interface RecordPosition {
  topic: string;
  partition: number;
  offset: number;
}

const positionText = ({ topic, partition, offset }: RecordPosition): string => `${topic}-${partition}-${offset}`;

/**
 * Without id it is named by its position, without createdAt dated by Kafka. Too long names are
 * shortened (names.ts), so that the refusal can stand under some name.
 */
export function identify<R extends Pick<Request, "id" | "createdAt"> & Partial<Pick<Request, "tenant" | "domain">>>(
  request: R,
  position: RecordPosition,
  timestamp: number,
): R & { id: string; createdAt: number } {
  const id = request.id === null || request.id === "" ? positionText(position) : shortName(request.id);
  const { tenant, domain } = request;
  return {
    ...request,
    id,
    ...(typeof tenant === "string" ? { tenant: shortName(tenant) } : {}),
    ...(typeof domain === "string" ? { domain: shortName(domain) } : {}),
    createdAt: request.createdAt ?? timestamp,
  };
}

/** Key of a request across tenants: request ids are unique only within a tenant. */
export const requestKey = (tenant: string, id: string): string => JSON.stringify([tenant, id]);

/** Lone surrogates can't be encoded; Avro strings hold none. */
const escape = (name: string): string => encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\ufffd"));

/** tenant/domain, percent-encoded so that no name forges another's; null or empty: "default". */
export const sharingDomain = (tenant: string, domain: string | null): string =>
  `${escape(tenant)}/${escape(domain === null || domain === "" ? "default" : domain)}`;

/** The tenant of a sharing domain. */
export const tenantOf = (domain: string): string => decodeURIComponent(domain.slice(0, domain.indexOf("/")));

/** Tolerated difference between the clocks of two hosts, or of a host and a broker. */
export const skewMs = 5_000;

/**
 * Arrival time at the broker, milliseconds since the epoch: the only time of a client's record that
 * counts. A broker's timestamp is trusted, a producer's clamped to within skewMs of now.
 */
export function arrivalOf(
  { timestamp, appended = false }: { timestamp: number; appended?: boolean },
  now: number,
  toleranceMs = skewMs,
): number {
  if (appended) return timestamp;
  return Number.isFinite(timestamp) ? Math.min(Math.max(timestamp, now - toleranceMs), now) : now;
}

/** Milliseconds since the epoch after which no answer is needed; createdAt: as of arrivalOf(). */
export const deadlineOf = (
  request: Pick<Request, "allow"> & { createdAt: number },
  defaultMs: number,
  mostMs = Infinity,
): number => request.createdAt + Math.min(request.allow.deadlineMs ?? defaultMs, mostMs);

/** Deadline of work by this process's clock; if the clocks differ, the rest from its arrival. */
export function workDeadline({ notAfter, plannedAt }: Pick<Work, "notAfter" | "plannedAt">, arrivedAt: number): number {
  const hop = arrivedAt - plannedAt;
  return hop >= 0 && hop <= skewMs ? notAfter : arrivedAt + (notAfter - plannedAt);
}

/** Equal for the same pair in the same domain, however often it is admitted. 32 hex digits. */
export const exampleId = (domain: string, request: string, response: string): string =>
  hash("sha256", JSON.stringify([domain, request, response])).slice(0, 32);

/** How an inventory of caches names what a cache is of; an example's id is its own domain's. */
export const cacheName = (kind: "example" | "document", id: string): string => `${kind}/${id}`;

/**
 * A piece of a document, as prompts have it, of one version of its text; `key`: the document's
 * (connections/documents/port.ts). Lone surrogates count as what a record makes of them.
 */
export const pieceName = (key: string, text: string): string => `${key}/${hash("sha256", text).slice(0, 16)}`;

/** The document's key. */
export const documentOfPiece = (name: string): string => name.slice(0, name.lastIndexOf("/"));

/** Author of feedback that came with a token; it makes no example by itself (operators/admit). */
export const tokenAuthor = "feedback-token";

/** Undoes sharingDomain: the tenant's own name; null: the domain of requests without one. */
export function ownDomain(sharing: string): string | null {
  const name = decodeURIComponent(sharing.slice(sharing.indexOf("/") + 1));
  return name === "default" ? null : name;
}
