// What an offset belongs to: cluster and topic by their ids; elsewhere the same offset is another
// record. Committed offsets carry it in their metadata: "@<cluster>.<topic id>:".
import { createHash } from "node:crypto";

export interface Origin {
  /** Empty: not known. */
  cluster: string;
  /** Empty: not known; brokers before Kafka 2.8 do not tell. */
  topicId: string;
}

export const unknownOrigin: Origin = { cluster: "", topicId: "" };

/** Whether an offset of one can be one of the other. Unknown counts as the same. */
export function sameOrigin(one: Origin, other: Origin): boolean {
  const agree = (a: string, b: string): boolean => a === "" || b === "" || a === b;
  return agree(one.cluster, other.cluster) && agree(one.topicId, other.topicId);
}

/** A cluster's id in at most 22 safe characters; Kafka's own have that form. */
export const shortCluster = (id: string): string =>
  /^[A-Za-z0-9_-]{0,22}$/.test(id) ? id : createHash("sha256").update(id).digest("base64url").slice(0, 22);

/** Metadata of a committed offset, with the origin in front; unchanged for an unknown origin. */
export const withOrigin = ({ cluster, topicId }: Origin, metadata: string): string =>
  cluster === "" && topicId === "" ? metadata : `@${cluster}.${topicId}:${metadata}`;

/** Text for the column kafka_origin; empty: unknown. */
export const originText = ({ cluster, topicId }: Origin): string =>
  cluster === "" && topicId === "" ? "" : `${cluster}.${topicId}`;

export function parseOrigin(text: string): Origin {
  const [cluster = "", topicId = ""] = text.split(".");
  return { cluster, topicId };
}

/** Key of positions in a topic; without an origin, as formerly, the topic's name. */
export const positionName = (topic: string, origin: string): string => (origin === "" ? topic : `${topic}@${origin}`);

/** Takes the metadata of a committed offset apart; what an older version wrote has no origin. */
export function splitOrigin(text: string): { origin: Origin; metadata: string } {
  const [whole, cluster = "", topicId = ""] = /^@([A-Za-z0-9_-]{0,22})\.([A-Za-z0-9_-]{0,22}):/.exec(text) ?? [];
  if (whole === undefined) return { origin: unknownOrigin, metadata: text };
  return { origin: { cluster, topicId }, metadata: text.slice(whole.length) };
}
