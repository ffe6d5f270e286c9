// Where an adopted partition goes on. A position beyond the log's end or of another topic or
// cluster is never followed: it would skip requests. Pure.
import { sameOrigin } from "../algorithms/identity/origin.ts";
import type { CommittedOffset } from "../connections/kafka/port.ts";
import { decodeFinished } from "./finished-offsets.ts";

/** retention: records went unread; truncated: the log lost its end; another_topic. */
export type Surprise = "retention" | "truncated" | "another_topic";

export interface Start {
  base: number;
  finished: number[];
  surprise?: Surprise;
}

export function startOf({ offset, metadata, beginning, end, origin, current }: CommittedOffset): Start {
  if (offset === undefined) return { base: beginning, finished: [] };
  if (!sameOrigin(origin, current)) return { base: beginning, finished: [], surprise: "another_topic" };
  if (offset < beginning) return { base: beginning, finished: [], surprise: "retention" };
  // What comes next gets the offsets from the end on.
  if (offset > end) return { base: end, finished: [], surprise: "truncated" };
  const finished = decodeFinished(metadata).map((relative) => relative + offset);
  const kept = finished.filter((at) => at < end);
  return { base: offset, finished: kept, ...(kept.length < finished.length ? { surprise: "truncated" } : {}) };
}
