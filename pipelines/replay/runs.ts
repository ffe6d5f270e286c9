// The record of an example replay run (example_replay_runs): plan, waiting, end. Renewed while it
// runs, so that a dead process's run can be told.
import type { Logger } from "pino";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { CutOff } from "../../operators/example-replay/agenda.ts";

export type RunEnd = "done" | "cut-off" | "budget" | "load" | "interrupted" | "failed";
export type RunState = "running" | "waiting" | RunEnd;

export interface RunDescription {
  runId: string;
  /** The time of the schedule, milliseconds since the epoch; absent: begun by hand. */
  dueAt?: number | undefined;
  judge: string;
  top: number;
  samples: number;
}

const renewMs = 30_000;
/** Milliseconds without renewal after which no process runs a scheduled run any more. */
export const runLapsesMs = 10 * 60_000;

interface Known {
  beganAt: number;
  waitedMs: number;
}

/** Writes that it runs, keeping its beginning. Rejects as the port does. */
export async function keepRunRecord(
  clickhouse: Pick<ClickHouse, "query" | "insert">,
  { runId, dueAt, judge, top, samples }: RunDescription,
  { load, waitedMs, log }: { load: () => number; waitedMs: () => number; log: Logger },
) {
  const [known] = await clickhouse.query<Known>(
    "SELECT toUnixTimestamp64Milli(began_at) AS beganAt, waited_ms AS waitedMs FROM example_replay_runs FINAL WHERE run_id = {runId:String}",
    { runId },
  );
  let row: object = {
    ...{ run_id: runId, cause: dueAt === undefined ? "hand" : "schedule", due_at: dueAt ?? null },
    ...{ state: "running", problem: "", judge, top, samples, cut_off: null, cut_off_from: "" },
    began_at: known?.beganAt ?? Date.now(),
  };
  // One after the other: the newest stands.
  let written: Promise<unknown> = Promise.resolve();
  const write = (): Promise<void> => {
    const next = written.then(() =>
      clickhouse.insert("example_replay_runs", [
        {
          ...row,
          load: Math.round(load() * 1_000) / 1_000,
          waited_ms: (known?.waitedMs ?? 0) + Math.round(waitedMs()),
          updated_at: Date.now(),
        },
      ]),
    );
    written = next.catch(() => undefined);
    return next;
  };
  await write();
  const timer = setInterval(() => {
    write().catch((error: unknown) =>
      log.warn({ err: error, runId }, "the record of the example replay run was not renewed"),
    );
  }, renewMs);
  timer.unref();
  return {
    async set({ cutOff, ...change }: { state?: RunState; problem?: string; cutOff?: CutOff }): Promise<void> {
      const found =
        cutOff === undefined
          ? {}
          : { cut_off: Number.isFinite(cutOff.gain) ? cutOff.gain : null, cut_off_from: cutOff.from };
      row = { ...row, ...change, ...found };
      await write();
    },
    /** Nothing is renewed any more. */
    stop: (): void => clearInterval(timer),
  };
}
