// How far the lines of a batch are finished: those below a line all are, and some behind it.
import type { BatchProgress } from "../../schemas/types.ts";

export type Outcome = "completed" | "failed";

type Counted = Pick<BatchProgress, "line" | "offset" | "completed" | "failed" | "completedAhead" | "failedAhead">;

export interface Position {
  /** Where to read on from: the first line that is not finished. */
  next(): { line: number; offset: number };
  /** Whether it is to be asked; false: it is finished already. In the order of the file. */
  begin(at: { line: number; offset: number }): boolean;
  finish(line: number, outcome: Outcome): void;
  /** Lines from the first unfinished one on that were begun. */
  ahead(): number;
  /** Lines that were begun. */
  begun(): number;
  counts(): Counted;
}

interface Begun {
  offset: number;
  outcome: Outcome | null;
}

/** from: as recorded; what was finished behind its line is forgotten, and asked again. */
export function createPosition(from: Pick<BatchProgress, "line" | "offset" | "completed" | "failed">): Position {
  const below = { completed: from.completed, failed: from.failed };
  const ahead = { completed: 0, failed: 0 };
  /** In the order of the file. */
  const begun = new Map<number, Begun>();
  let end = { line: from.line, offset: from.offset };

  const next = (): { line: number; offset: number } => {
    for (const [line, { offset }] of begun) return { line, offset };
    return end;
  };
  return {
    next,
    begin({ line, offset }) {
      const known = begun.get(line);
      if (known !== undefined) return known.outcome === null;
      if (line < end.line) return false;
      begun.set(line, { offset, outcome: null });
      end = { line: line + 1, offset: offset + 1 };
      return true;
    },
    finish(line, outcome) {
      const one = begun.get(line);
      if (one === undefined || one.outcome !== null) return;
      one.outcome = outcome;
      ahead[outcome]++;
      for (const [first, { outcome: found }] of begun) {
        if (found === null) break;
        begun.delete(first);
        ahead[found]--;
        below[found]++;
      }
    },
    ahead: () => begun.size,
    begun: () => below.completed + below.failed + begun.size,
    counts: () => ({ ...next(), ...below, completedAhead: ahead.completed, failedAhead: ahead.failed }),
  };
}
