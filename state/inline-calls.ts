// Calls of inline arms under way in plan processes (topic inline-calls), as load.ts reads work
// topics of queued ones. Best effort.
import type { InlineCalls } from "../schemas/types.ts";
import { applyTo, followTable } from "../runtime/table.ts";
import { createRowTable, shareRows, voidMs, type RowSession, type RowTable } from "./process-rows.ts";
import type { SessionOf } from "./session.ts";

export { voidMs };

export interface CallTable extends Pick<RowTable<InlineCalls>, "apply" | "remove"> {
  others(arm: string, instance: string): number;
}

const sum = (rows: readonly InlineCalls[]): number => rows.reduce((all, { calls }) => all + calls, 0);

export function createCallTable(clock: () => number): CallTable {
  const table = createRowTable<InlineCalls>(clock);
  return { ...table, others: (arm, instance) => sum(table.others(arm, instance)) };
}

export interface SharedCalls {
  of(arm: string): number;
  /** Takes back what was said: this process calls no arm any more. */
  stop(): Promise<void>;
}

export interface SharedCallsOptions {
  /** Calls of this process, by arm; an arm that is missing is not an inline one. */
  own: () => ReadonlyMap<string, number>;
  instance: string;
  log: SessionOf<object>["log"];
}

/** Where no arm is inline nothing is read, and before one was called nothing is sent. */
export function shareCalls(
  session: RowSession<"inline-calls">,
  { own, instance, log }: SharedCallsOptions,
): SharedCalls {
  const rows = shareRows(session, {
    topic: "inline-calls",
    own: () => new Map([...own()].map(([arm, calls]) => [arm, { calls }])),
    isIdle: ({ calls }) => calls === 0,
    follows: () => own().size > 0,
    ...{ instance, log },
  });
  return { of: (arm) => (own().get(arm) ?? 0) + sum(rows.others(arm)), stop: rows.stop };
}

/** For a process that calls no arm. */
export function followCalls(
  { kafka, codec, topic }: Pick<SessionOf<{ tables: ["inline-calls"] }>, "kafka" | "codec" | "topic">,
  log: SessionOf<object>["log"],
): SharedCalls & { caughtUp: Promise<void> } {
  const table = createCallTable(Date.now);
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("inline-calls"), record: "inline-calls" as const },
    apply: applyTo(table),
  });
  return { of: (arm) => table.others(arm, ""), caughtUp: reader.caughtUp, stop: () => reader.stop() };
}
