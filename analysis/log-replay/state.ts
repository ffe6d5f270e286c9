// What a log replay is, kept in its folder, so that one that was killed goes on as it began: with
// the same policies, seed and shift of time.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Policy } from "../../schemas/types.ts";
import type { ExampleHistory } from "./history.ts";

export interface LogReplayLane {
  policy: string;
  /** null: the prior. */
  router: Policy | null;
  prepared: boolean;
  done: boolean;
  requests: number;
  ms: number;
}

/** taken: from the table, as of now but for those that were restored. */
export interface ExamplesThen extends ExampleHistory {
  taken: number;
}

export interface LogReplayState {
  id: string;
  source: string;
  /** Milliseconds since the epoch, of this log replay and of what was there before the window. */
  startedAt: number;
  beginning: number;
  /** Whole milliseconds added to every time of the log; null: the log is still being read. */
  shift: number | null;
  speed: number | null;
  seed: string;
  liveArms: readonly string[];
  others: readonly Policy[];
  lanes: LogReplayLane[];
  /** Examples of the window's beginning, the same for all policies; absent: not read yet. */
  examples?: ExamplesThen;
}

export const stateFile = (folder: string): string => join(folder, "log-replay.json");

/** Undefined: there is no such log replay, or its file is torn. */
export async function readState(folder: string): Promise<LogReplayState | undefined> {
  try {
    return JSON.parse(await readFile(stateFile(folder), "utf8")) as LogReplayState;
  } catch {
    return undefined;
  }
}
