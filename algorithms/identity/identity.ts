// Who a record is: ids, times and sharing domains, by one function for every stage, so that all of
// them agree.
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
 * A request without id (absent or empty) is named by its position, without createdAt dated by the
 * Kafka timestamp. Names that are too long have short ones in their place (names.ts): plan refuses
 * such a request, and the refusal must stand under some name.
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

/**
 * tenant/domain; null or empty is the domain "default". Both are percent-encoded, so that no name
 * can forge another tenant's domain.
 */
export const sharingDomain = (tenant: string, domain: string | null): string =>
  `${escape(tenant)}/${escape(domain === null || domain === "" ? "default" : domain)}`;

/**
 * Maximum difference between the clocks of two hosts, or of a host and a broker, that is tolerated.
 */
export const skewMs = 5_000;

/**
 * Arrival time of a record at the broker, milliseconds since the epoch. It is the only time of a
 * client's record that counts, for deadlines, order, memory and retention. A broker's own timestamp
 * (message.timestamp.type=LogAppendTime, as on the topics we create) is trusted. A producer's
 * timestamp is clamped to within skewMs of now, the time of receipt.
 */
export function arrivalOf(
  { timestamp, appended = false }: { timestamp: number; appended?: boolean },
  now: number,
  toleranceMs = skewMs,
): number {
  if (appended) return timestamp;
  return Number.isFinite(timestamp) ? Math.min(Math.max(timestamp, now - toleranceMs), now) : now;
}

/**
 * Milliseconds since the epoch after which the client no longer needs the answer; createdAt: the
 * request's arrival (arrivalOf).
 */
export const deadlineOf = (
  request: Pick<Request, "allow"> & { createdAt: number },
  defaultMs: number,
  mostMs = Infinity,
): number => request.createdAt + Math.min(request.allow.deadlineMs ?? defaultMs, mostMs);

/**
 * Deadline of work that plan handed over, by the clock of the process that holds it now. If the
 * clocks of plan and the broker differ by more than a hop takes, the rest of the deadline counts
 * from the arrival of the work.
 */
export function workDeadline({ notAfter, plannedAt }: Pick<Work, "notAfter" | "plannedAt">, arrivedAt: number): number {
  const hop = arrivedAt - plannedAt;
  return hop >= 0 && hop <= skewMs ? notAfter : arrivedAt + (notAfter - plannedAt);
}

/**
 * The same pair in the same domain is the same example, however often it is admitted. 32 hex
 * digits.
 */
export const exampleId = (domain: string, request: string, response: string): string =>
  hash("sha256", JSON.stringify([domain, request, response])).slice(0, 32);

/** How an inventory of caches names what a cache is of; an example's id is its own domain's. */
export const cacheName = (kind: "example" | "document", id: string): string => `${kind}/${id}`;

/**
 * Author of all feedback that came with a feedback token. It can be withdrawn at once, and makes no
 * example by itself (operators/admit).
 */
export const tokenAuthor = "feedback-token";
