// Delivered but uncommitted records of a partition. Committed: the first unfinished offset, with
// finished ones beyond as metadata. Pure.
import { encodeFinished, windowOffsets } from "./finished-offsets.ts";

/** waiting -> running -> done (outputs are ready) -> committed. */
export type EntryState = "waiting" | "running" | "done" | "committed";

export interface Entry<T> {
  readonly offset: number;
  readonly item: T;
  state: EntryState;
}

export type Window<T> = ReturnType<typeof createWindow<T>>;

/** base: committed offset; finished: offsets beyond it. */
export function createWindow<T>(base: number, finished: Iterable<number>) {
  const restored = new Set(finished);
  let delivered: Entry<T>[] = [];
  let next = base;

  const firstUnfinished = (): number => delivered.find((entry) => entry.state !== "committed")?.offset ?? next;

  return {
    /**
     * Takes up a delivered record; undefined when it is finished already or was delivered before.
     */
    add(offset: number, item: T): Entry<T> | undefined {
      if (offset < next) return undefined;
      next = offset + 1;
      const known = restored.delete(offset);
      const entry: Entry<T> = { offset, item, state: known ? "committed" : "waiting" };
      // A finished one stays in line: until the position passes it, it must be in every commit's
      // metadata.
      delivered.push(entry);
      return known ? undefined : entry;
    },
    /** Where delivery goes on; control markers and aborted records before it are behind us. */
    advanceTo(position: number): void {
      next = Math.max(next, position);
    },
    next: (): number => next,
    /** Whether its offset fits into the metadata of the committed position. */
    admits: (offset: number): boolean => offset - firstUnfinished() < windowOffsets,
    /** What to commit when the entries of `taken` are finished too. */
    position(taken?: ReadonlySet<Entry<T>>): { offset: number; metadata: string } {
      const isFinished = (entry: Entry<T>): boolean => entry.state === "committed" || taken?.has(entry) === true;
      let first = 0;
      for (; first < delivered.length; first++) {
        const entry = delivered[first];
        if (entry !== undefined && !isFinished(entry)) break;
      }
      const offset = delivered[first]?.offset ?? next;
      const beyond: number[] = [];
      for (let i = first; i < delivered.length; i++) {
        const entry = delivered[i];
        if (entry !== undefined && isFinished(entry)) beyond.push(entry.offset - offset);
      }
      // Restored ones that were not delivered again yet: without them a second crash would do them
      // twice.
      for (const finishedOffset of [...restored].sort((a, b) => a - b))
        if (finishedOffset >= offset) beyond.push(finishedOffset - offset); // below: removed by retention, behind us
      return { offset, metadata: encodeFinished(beyond) };
    },
    /** Marks entries as committed and forgets what lies before the position. */
    commit(entries: Iterable<Entry<T>>): void {
      for (const entry of entries) entry.state = "committed";
      const first = delivered.findIndex((entry) => entry.state !== "committed");
      delivered = first === -1 ? [] : delivered.slice(first);
    },
    entries: (): readonly Entry<T>[] => delivered,
  };
}
