// stack.json, replaced whole: the running stack; after a kill -9 it names leftovers and ports.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { z } from "zod";

const identity = z.object({ pid: z.number().int().positive(), started: z.string() });
const server = z.object({
  port: z.number().int().positive().optional(),
  process: identity.optional(),
  /** failed: given up, see `failure`. */
  status: z.enum(["starting", "ready", "restarting", "stopped", "failed"]),
  restarts: z.number().int().min(0),
});

const stackState = z.object({
  supervisor: identity,
  startedAt: z.string(),
  /** The write token of the embedded ClickHouse (tokens.ts); kept over restarts. */
  token: z.string().min(16),
  controllerPort: z.number().int().positive().optional(),
  servers: z.object({ kafka: server, registry: server, clickhouse: server }),
  failure: z.string().optional(),
});

export type StackState = z.infer<typeof stackState>;

/** The last state; undefined: none, or it can't be read. */
export function readState(file: string): StackState | undefined {
  try {
    return stackState.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}

/** Synchronous, so that a spawned process is on record. Private: it has the token. */
export function writeState(file: string, state: StackState): void {
  writePrivately(file, `${JSON.stringify(state, undefined, 2)}\n`);
}

/** Whole or not at all, and for the owner's eyes. */
export function writePrivately(file: string, text: string): void {
  const draft = `${file}.tmp`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}

export function isReady(state: StackState): boolean {
  return Object.values(state.servers).every(({ status }) => status === "ready");
}
