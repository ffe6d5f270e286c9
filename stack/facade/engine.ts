// chdb, one per process, behind lanes: stages' reads, their writes, others. A short-lived session a
// request, as settings stick. queryAsync leaves the event loop free. Only the formatter's text that
// guard.ts allowed runs. A returned INSERT survives kill -9.
import { randomUUID } from "node:crypto";
import { rmSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Session } from "chdb";
import { accessArguments, readerLimits, stageLimits } from "./access.ts";
import { createEnder } from "./end.ts";
import { timedOut, toDatabaseError } from "./errors.ts";
import { firstKeyword, looksLikeRead, type Permission } from "./guard.ts";
import { createLane } from "./lane.ts";
import { allowed, createFormatter, ownFormat, preamble, type Statement } from "./statement.ts";

export interface StatementResult {
  bytes: Uint8Array;
  /** What they are in: the statement's own FORMAT, or the default given with it. */
  format: string;
  rowsRead: number;
  bytesRead: number;
  elapsed: number;
}

export type Engine = ReturnType<typeof createEngine>;

export interface EngineConfig {
  path: string;
  /** Statements at once: stages' queries, others', writes; below UV_THREADPOOL_SIZE in all. */
  readers: number;
  askers: number;
  writers: number;
  /** Statements that wait in each lane; more are refused with TOO_MANY_SIMULTANEOUS_QUERIES. */
  maxQueued: number;
  /** A query can't be ended: the process must go. */
  stuck(reason: string): void;
}

const identifier = (text: string): string => `\`${text.replace(/[\\`]/g, "\\$&")}\``;
const noDataToInsert = 108;
const nothing: StatementResult = { bytes: new Uint8Array(), format: "Null", rowsRead: 0, bytesRead: 0, elapsed: 0 };

/** Opens the data folder; throws when another process holds it. */
export function createEngine(config: EngineConfig) {
  mkdirSync(config.path, { recursive: true });
  // The embedded engine's database `default` overlays the file system: SELECT * FROM `/etc/passwd`
  // works, even readonly. It can't be absent (a session starts in it), so it becomes one that holds
  // nothing; its metadata must go first or the next start is refused.
  rmSync(join(config.path, "metadata", "default.sql"), { force: true });
  // The first connection decides for all of them.
  const anchor = new Session(config.path, { connectionArgs: accessArguments(join(config.path, "precedent-access")) });
  anchor.query("DETACH DATABASE default; CREATE DATABASE default ENGINE = Dictionary");
  const version = anchor.query("SELECT version()", "TabSeparatedRaw").trim();
  const names = anchor.query("SELECT lower(name) FROM system.table_functions", "TabSeparatedRaw");
  const knownTableFunctions = new Set(names.trim().split("\n"));
  if (anchor.query("SHOW GRANTS", "TabSeparatedRaw").includes("SOURCES"))
    throw new Error(
      `${config.path}: the engine did not take our access control; refusing to serve files of this machine`,
    );
  const formatter = createFormatter();
  const ender = createEnder(() => new Session(config.path), config.stuck);
  const lanes = {
    readers: createLane(config.readers, config.maxQueued),
    askers: createLane(config.askers, config.maxQueued),
    writers: createLane(config.writers, config.maxQueued),
  };

  async function execute(statement: Statement, signal: AbortSignal | undefined): Promise<StatementResult> {
    const { database, readOnly, parameters } = statement;
    const limits = readOnly ? readerLimits : stageLimits;
    const permission: Permission = { readOnly, limits, knownTableFunctions, parameters };
    const tag = randomUUID();
    const before = [
      ...(database ? [`USE ${identifier(database)}`] : []),
      preamble(statement, permission, tag),
      ...(readOnly ? ["SET readonly = 2"] : []),
    ].join("; ");
    const overdue = AbortSignal.timeout((limits.max_execution_time + 5) * 1000);
    const stop = signal === undefined ? overdue : AbortSignal.any([overdue, signal]);
    const session = new Session(config.path);
    const ended = ender.watch(tag, stop);
    try {
      const work = await allowed(formatter(session), statement, permission);
      stop.throwIfAborted();
      if ("values" in work) {
        await session.queryAsync(before);
        const { rowsWritten, bytesWritten, elapsed } = await session.insert(work);
        return { ...nothing, rowsRead: rowsWritten, bytesRead: bytesWritten, elapsed };
      }
      // One call for all of it, as a call costs more than what it sets. An INSERT's rows end where
      // its text does, and so it stays alone.
      const alone = firstKeyword(work.sql) === "INSERT";
      if (alone) await session.queryAsync(before);
      const result = await session.queryAsync(alone ? work.sql : `${before}; ${work.sql}`, {
        format: statement.format,
      });
      const { rowsRead, bytesRead, elapsed } = result;
      const format = ownFormat(work.sql) ?? statement.format;
      return { bytes: result.bytes(), format, rowsRead, bytesRead, elapsed };
    } catch (cause) {
      if (overdue.aborted) throw timedOut(`The statement ran longer than ${limits.max_execution_time} s.`);
      const error = toDatabaseError(cause);
      // A server takes an INSERT without rows as done.
      if (error.code === noDataToInsert) return nothing;
      throw error;
    } finally {
      ended();
      session.close();
    }
  }

  return {
    version,
    /** Rejects with DatabaseError. The signal unqueues, or ends a query; a write is finished. */
    run(statement: Statement, signal?: AbortSignal): Promise<StatementResult> {
      const reads = statement.readOnly || looksLikeRead(statement.sql);
      const lane = statement.readOnly ? lanes.askers : reads ? lanes.readers : lanes.writers;
      return lane.add(() => execute(statement, reads ? signal : undefined), signal);
    },
    async close(): Promise<void> {
      await Promise.all(Object.values(lanes).map((lane) => lane.drain()));
      anchor.close();
    },
  };
}
