// Tracks which lines of a batch are finished: all before a line, and some after it.
import type { BatchProgress } from "../../schemas/types.ts";

/** deferred: its answer comes later; it counts as begun, and once recorded by its answer. */
export type Outcome = "completed" | "failed" | "deferred";

type Counted = Pick<
  BatchProgress,
  "line" | "offset" | "completed" | "failed" | "completedAhead" | "failedAhead" | "deferred"
>;

export type Position = ReturnType<typeof createPosition>;

interface Begun {
  offset: number;
  outcome: Outcome | null;
}

/** from: as recorded. Lines finished behind it are not recorded, and are asked again. */
export function createPosition(from: Pick<BatchProgress, "line" | "offset" | "completed" | "failed" | "deferred">) {
  const below = { completed: from.completed, failed: from.failed, deferred: from.deferred };
  const ahead = { completed: 0, failed: 0, deferred: 0 };
  /** Sorted as the file. */
  const begun = new Map<number, Begun>();
  let end = { line: from.line, offset: from.offset };

  /** Where to read on: the first unfinished line. */
  const next = (): { line: number; offset: number } => {
    for (const [line, { offset }] of begun) return { line, offset };
    return end;
  };
  return {
    next,
    /** Whether to ask the line; false: it is finished. Call in the order of the file. */
    begin({ line, offset }: { line: number; offset: number }): boolean {
      const known = begun.get(line);
      if (known !== undefined) return known.outcome === null;
      if (line < end.line) return false;
      begun.set(line, { offset, outcome: null });
      end = { line: line + 1, offset: offset + 1 };
      return true;
    },
    finish(line: number, outcome: Outcome): void {
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
    /** Begun lines from the first unfinished one on. */
    ahead: (): number => begun.size,
    /** All lines that were begun, finished ones included. */
    begun: (): number => below.completed + below.failed + below.deferred + begun.size,
    counts(): Counted {
      return { ...next(), ...below, completedAhead: ahead.completed, failedAhead: ahead.failed };
    },
    /** Lines whose answers come later. */
    deferred: (): number => below.deferred + ahead.deferred,
    /** What all lines before the first unfinished one have ended in, as the log has it. */
    recorded({ completed, failed }: { completed: number; failed: number }): void {
      const all = below.completed + below.failed + below.deferred;
      // A row that was erased since is an answer that was given.
      below.completed = Math.max(below.completed, completed);
      below.failed = Math.max(below.failed, Math.min(failed, all - below.completed));
      below.deferred = Math.max(0, all - below.completed - below.failed);
    },
  };
}
