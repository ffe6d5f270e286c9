// stack.json, replaced whole: the running stack; after a kill -9 it names leftovers and ports.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { messageOf, isMissing } from "../connections/errors.ts";

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

/** It is there and can't be read: a disk that was full, another version, other rights. */
export class StateUnreadable extends Error {
  override name = "StateUnreadable";
}

/** The last state written; undefined when there is none. Throws StateUnreadable. */
export function readState(file: string): StackState | undefined {
  try {
    return stackState.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    const reason = cause instanceof z.ZodError ? `it lacks ${cause.issues[0]?.path.join(".")}` : messageOf(cause);
    throw new StateUnreadable(
      `${file} can't be read (${reason}), and it says where the stack's servers are: ` +
        `run "precedent stack stop", then "precedent stack start", which writes a new one`,
      { cause },
    );
  }
}

/** The same for those that can do without. */
export function readStateOr(file: string, onUnreadable: (error: StateUnreadable) => void): StackState | undefined {
  try {
    return readState(file);
  } catch (error) {
    onUnreadable(error as StateUnreadable);
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
