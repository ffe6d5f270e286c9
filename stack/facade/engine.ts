// chdb, one per process and data folder, behind a queue: every request gets a short-lived session of its own (1 ms), because settings,
// parameters and USE stick to a session. queryAsync runs on libuv's pool, so the event loop (and /ping) never waits for a query; reads and
// writes have lanes of their own, so that a slow query does not hold ingestion. An INSERT that has returned survives kill -9 of the process.
import { rmSync, mkdirSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { Session } from "chdb";
import { badArguments, DatabaseError, toDatabaseError, tooManyQueries } from "./errors.ts";
import { assertReadOnly, firstKeyword, looksLikeRead, type ReadOnlyLevel } from "./guard.ts";

export interface Statement {
  sql: string;
  /** Refuses anything but reading; absent: everything may run. */
  readOnly?: ReadOnlyLevel | undefined;
  database?: string | undefined;
  /** Format of the output where the statement names none. */
  format: string;
  settings: Readonly<Record<string, string>>;
  /** Values of {name:Type}, escaped as in a URL of ClickHouse's HTTP interface. */
  parameters: Readonly<Record<string, string>>;
}

export interface StatementResult {
  bytes: Uint8Array;
  rowsRead: number;
  bytesRead: number;
  /** Seconds. */
  elapsed: number;
}

export interface Engine {
  readonly version: string;
  /** Rejects with DatabaseError. The signal only takes a statement out of the queue: chdb can't stop a running one. */
  run(statement: Statement, signal?: AbortSignal): Promise<StatementResult>;
  /** Waits for what runs, then closes. */
  close(): Promise<void>;
}

export interface EngineConfig {
  path: string;
  /** Statements that run at once. Their sum must stay below UV_THREADPOOL_SIZE. */
  readers: number;
  writers: number;
  /** Statements that wait in each lane; more are refused with TOO_MANY_SIMULTANEOUS_QUERIES. */
  maxQueued: number;
}

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;
const identifier = (text: string): string => `\`${text.replace(/[\\`]/g, "\\$&")}\``;
const noDataToInsert = 108;

// async_insert is on by default in this version; a row must be on disk when its INSERT is acknowledged. The rest bounds one runaway query.
const defaults: Readonly<Record<string, string>> = {
  async_insert: "0",
  max_memory_usage: String(Math.floor(totalmem() / 2)),
  max_execution_time: "600",
  max_result_bytes: String(1024 ** 3),
};

/** Opens the data folder; throws when another process holds it. */
export function createEngine(config: EngineConfig): Engine {
  mkdirSync(config.path, { recursive: true });
  // The embedded engine's database `default` overlays the file system: SELECT * FROM `/etc/passwd` works, even readonly. It can't be
  // absent (a session starts in it), so it becomes one that holds nothing; its metadata must go first or the next start is refused.
  rmSync(join(config.path, "metadata", "default.sql"), { force: true });
  const anchor = new Session(config.path);
  anchor.query("DETACH DATABASE default; CREATE DATABASE default ENGINE = Dictionary");
  const version = anchor.query("SELECT version()", "TabSeparatedRaw").trim();
  const readers = createLane(config.readers, config.maxQueued);
  const writers = createLane(config.writers, config.maxQueued);

  async function execute(statement: Statement): Promise<StatementResult> {
    const session = new Session(config.path);
    try {
      const before = preamble(statement);
      if (statement.database) await session.queryAsync(`USE ${identifier(statement.database)}`);
      await session.queryAsync(before);
      if (firstKeyword(statement.sql) !== "INSERT" || statement.readOnly !== undefined) {
        // Also refuses several statements, which chdb itself would run.
        const normalised = await normalise(session, statement.sql);
        if (statement.readOnly !== undefined) {
          assertReadOnly(normalised, statement.readOnly);
          await session.queryAsync(`SET readonly = ${statement.readOnly}`);
        }
      }
      const result = await session.queryAsync(statement.sql, { format: statement.format });
      return {
        bytes: result.bytes(),
        rowsRead: result.rowsRead,
        bytesRead: result.bytesRead,
        elapsed: result.elapsed,
      };
    } catch (cause) {
      const error = toDatabaseError(cause);
      // A server takes an INSERT without rows as done.
      if (error.code === noDataToInsert) return { bytes: new Uint8Array(), rowsRead: 0, bytesRead: 0, elapsed: 0 };
      throw error;
    } finally {
      session.close();
    }
  }

  return {
    version,
    run: (statement, signal) =>
      (looksLikeRead(statement.sql) ? readers : writers).add(() => execute(statement), signal),
    async close() {
      await Promise.all([readers.drain(), writers.drain()]);
      anchor.close();
    },
  };
}

/** The statement on one line without comments; rejects with SYNTAX_ERROR where it is none or more than one. */
async function normalise(session: Session, sql: string): Promise<string> {
  try {
    const result = await session.queryAsync(`SELECT formatQuerySingleLine(${quote(sql)})`, {
      format: "TabSeparatedRaw",
    });
    return result.text();
  } catch (cause) {
    const error = toDatabaseError(cause);
    throw new DatabaseError(error.code, error.type, error.message.replace(/: In scope SELECT formatQuery[\s\S]*$/, ""));
  }
}

function preamble(statement: Statement): string {
  const settings = Object.entries({ ...defaults, ...statement.settings }).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw badArguments(`"${name}" is no name of a setting.`);
    return `SET ${name} = ${quote(value)}`;
  });
  const parameters = Object.entries(statement.parameters).map(([name, value]) => {
    if (!/^[A-Za-z0-9_]+$/.test(name)) throw badArguments(`"${name}" is no name of a parameter.`);
    return `SET param_${name} = ${quote(value)}`;
  });
  return [...settings, ...parameters].join("; ");
}

/** Runs at most `width` tasks at once, in order of arrival; refuses a task when `maxQueued` wait. */
function createLane(width: number, maxQueued: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  const drained: (() => void)[] = [];

  function release(): void {
    const next = waiting.shift();
    if (next)
      next(); // hands its place over
    else running -= 1;
    if (running === 0) for (const resolve of drained.splice(0)) resolve();
  }

  return {
    async add<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      if (running < width) running += 1;
      else if (waiting.length < maxQueued) await new Promise<void>((resolve) => waiting.push(resolve));
      else throw tooManyQueries(`${running} statements run and ${waiting.length} wait already; try again later.`);
      try {
        signal?.throwIfAborted();
        return await task();
      } finally {
        release();
      }
    },
    drain: () => (running === 0 ? Promise.resolve() : new Promise<void>((resolve) => drained.push(resolve))),
  };
}
