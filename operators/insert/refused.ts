// A record whose row ClickHouse refuses is dead-lettered whole, once, the same after a restart. A
// refused dead letter is wrapped once; then it only counts.
import type { Source } from "../../runtime/rows.ts";

/** Header of a dead letter whose record is a dead letter. */
export const WRAPS_LETTER = "precedent-wraps-letter";

export interface RefusedDependencies {
  /** Resolves when the record is on dead-letters, there with these headers. */
  deadLetter(source: Source, code: string, reason: string, headers: Record<string, string>): Promise<void>;
  /** Called for each; kept: its bytes are on dead-letters. */
  onRefused(source: Source, code: string, reason: string, kept: boolean): void;
  letters: string;
}

/** Records remembered, so that their other rows send no second letter. */
const remembered = 1_000;

export function createRefused({ deadLetter, onRefused, letters }: RefusedDependencies) {
  const sent = new Set<string>();

  return async function refused(source: Source, code: string, reason: string): Promise<void> {
    const { topic, partition, record } = source;
    const position = `${topic}/${partition}/${record.offset}`;
    if (sent.has(position)) return;
    const isLetter = topic === letters;
    const kept = !(isLetter && record.headers[WRAPS_LETTER] !== undefined);
    if (kept) await deadLetter(source, code, reason, isLetter ? { [WRAPS_LETTER]: "1" } : {});
    sent.add(position);
    for (const oldest of sent)
      if (sent.size > remembered) sent.delete(oldest);
      else break;
    onRefused(source, code, reason, kept);
  };
}
