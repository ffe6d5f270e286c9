// What was forgotten, and what remains: where, until when and why.
import type { FilesFound, HeldLocation } from "./files.ts";
import type { Scope } from "./subject.ts";
import type { TopicFinding } from "./topics.ts";

export interface Remaining {
  location: string;
  count: number | null;
  /** ISO 8601 time until which it stays; null: unknown. */
  until: string | null;
  why: string;
}

export interface ForgetReport {
  scope: Scope;
  erasure: string | null;
  requests: number;
  /** Without an answer: theirs may still come, run it again then. */
  underWay: number;
  removed: { rows: Record<string, number>; cacheEntries: number; examples: number; documents: number } & FilesFound;
  searched: { tables: readonly string[]; topics: string[]; folders: string[] };
  found: { location: string; count: number }[];
  remains: Remaining[];
}

/** ClickHouse keeps the files that a mutation replaced for this long (old_parts_lifetime). */
const oldPartsMs = 8 * 60_000;

export function remaining(
  topics: readonly TopicFinding[],
  now: number,
  isDry: boolean,
  locations: readonly HeldLocation[],
): Remaining[] {
  const at = (ms: number): string => new Date(ms).toISOString();
  const logs = topics
    .filter(({ lying }) => lying > 0)
    .map(({ topic, lying, newest, keeps }): Remaining => {
      const location = `topic ${topic}`;
      if (keeps === undefined) return { location, count: lying, until: null, why: "its settings could not be read" };
      const { retentionMs, segmentMs, compactionLagMs, compacts } = keeps;
      const ends = [
        ...(retentionMs === null ? [] : [newest + retentionMs + segmentMs]),
        ...(compactionLagMs === null ? [] : [now + compactionLagMs]),
      ];
      const until = ends.length === 0 ? null : at(Math.min(...ends));
      if (compacts && compactionLagMs === null)
        return {
          location,
          count: lying,
          until,
          why: "replaced; until the broker compacts (set max.compaction.lag.ms)",
        };
      return {
        location,
        count: lying,
        until,
        why: compacts ? "replaced; until it is compacted" : "the topic's retention",
      };
    });
  const parts = {
    location: "old parts of tables",
    count: null,
    until: at(now + oldPartsMs),
    why: "ClickHouse removes them",
  };
  const held = locations.map((one): Remaining => ({ ...one, until: one.until === null ? null : at(one.until) }));
  return isDry ? logs : [...logs, ...held, parts];
}
