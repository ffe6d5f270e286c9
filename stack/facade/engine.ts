// chdb, one per process, behind lanes: stages' reads, their writes, others. A short-lived session a
// request, as settings stick. queryAsync leaves the event loop free. Only the formatter's text that
// guard.ts allowed runs. A returned INSERT survives kill -9.
import { randomUUID } from "node:crypto";
import { rmSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Session, type RawInsertParams } from "chdb";
import { accessArguments, readerLimits, stageLimits } from "./access.ts";
import { isFormat } from "./allowed.ts";
import { createEnder } from "./end.ts";
import { badArguments, DatabaseError, timedOut, toDatabaseError } from "./errors.ts";
import {
  checkExpressions,
  checkSetting,
  checkStatement,
  firstKeyword,
  looksLikeRead,
  type Permission,
} from "./guard.ts";
import { insertData, plainTarget, splitInsert } from "./insert.ts";
import { tokensOf } from "./lexer.ts";
import { createLane } from "./lane.ts";

export interface Statement {
  sql: string;
  /** What stands behind it on lines of its own: the rows of an INSERT, mostly. */
  data?: Buffer;
  /** Refuses anything but reading. */
  readOnly: boolean;
  database?: string | undefined;
  /** Format of the output where the statement names none. */
  format: string;
  settings: Readonly<Record<string, string>>;
  /** Values of {name:Type}, escaped as in a URL of ClickHouse's HTTP interface. */
  parameters: Readonly<Record<string, string>>;
}

export interface StatementResult {
  bytes: Uint8Array;
  /** What they are in: the statement's own FORMAT, or the default given with it. */
  format: string;
  rowsRead: number;
  bytesRead: number;
  elapsed: number;
}

export interface Engine {
  readonly version: string;
  /** Rejects with DatabaseError. The signal unqueues, or ends a query; a write is finished. */
  run(statement: Statement, signal?: AbortSignal): Promise<StatementResult>;
  close(): Promise<void>;
}

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

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;
const identifier = (text: string): string => `\`${text.replace(/[\\`]/g, "\\$&")}\``;
const noDataToInsert = 108;
const nothing: StatementResult = { bytes: new Uint8Array(), format: "Null", rowsRead: 0, bytesRead: 0, elapsed: 0 };

/** Opens the data folder; throws when another process holds it. */
export function createEngine(config: EngineConfig): Engine {
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
    run(statement, signal) {
      const reads = statement.readOnly || looksLikeRead(statement.sql);
      const lane = statement.readOnly ? lanes.askers : reads ? lanes.readers : lanes.writers;
      return lane.add(() => execute(statement, reads ? signal : undefined), signal);
    },
    async close() {
      await Promise.all(Object.values(lanes).map((lane) => lane.drain()));
      anchor.close();
    },
  };
}

/**
 * One checked statement in the formatter's form, with an INSERT's rows. Stages' rows go on as they
 * came: as strings they would be copied half a dozen times.
 */
async function allowed(
  format: (sql: string) => Promise<string>,
  { sql: head, data: rows }: Statement,
  permission: Permission,
): Promise<{ sql: string } | RawInsertParams> {
  if (rows !== undefined && firstKeyword(head) === "INSERT" && splitInsert(head)?.data === "") {
    const formatted = await format(head);
    checkStatement(formatted, permission);
    const table = plainTarget(formatted, rows);
    if (table !== undefined) return { table, values: rows, format: "JSONEachRow" };
  }
  return { sql: await text(format, rows === undefined ? head : `${head}\n${rows.toString("utf8")}`, permission) };
}

async function text(format: (sql: string) => Promise<string>, sql: string, permission: Permission): Promise<string> {
  const insert = firstKeyword(sql) === "INSERT" ? splitInsert(sql) : undefined;
  const formatted = await format(insert?.head ?? sql);
  checkStatement(formatted, permission);
  if (insert === undefined) return formatted;
  const name = / FORMAT (\w+)$/.exec(formatted)?.[1];
  if (name === undefined)
    throw badArguments("INSERT takes its rows after FORMAT name, after VALUES, or from a SELECT.");
  const data = insertData(name, insert.data);
  checkExpressions(data.expressions, permission);
  return `${formatted}\n${data.text}`;
}

/** The FORMAT that a statement in the formatter's form names. */
function ownFormat(sql: string): string | undefined {
  if (!/\bFORMAT\b/.test(sql) || firstKeyword(sql) === "INSERT") return undefined;
  const tokens = [...tokensOf(sql)];
  const at = tokens.findLastIndex(({ kind, text }) => kind === "word" && text === "FORMAT");
  const [name, next] = [tokens[at + 1], tokens[at + 2]];
  const isLast = next === undefined || next.text === "SETTINGS";
  return at >= 0 && isLast ? name?.text : undefined;
}

/** The formatter's last results are cached: stages repeat few statements. */
function createFormatter(): (session: Session) => (sql: string) => Promise<string> {
  const kept = new Map<string, string>();
  return (session) => async (sql) => {
    const known = kept.get(sql);
    if (known !== undefined) return known;
    const formatted = await normalise(session, sql);
    if (sql.length <= 8_192) {
      kept.set(sql, formatted);
      const oldest = kept.keys().next();
      if (kept.size > 256 && oldest.done !== true) kept.delete(oldest.value);
    }
    return formatted;
  };
}

/** On one line without comments; SYNTAX_ERROR unless it is one statement. */
async function normalise(session: Session, sql: string): Promise<string> {
  try {
    const result = await session.queryAsync(`SELECT formatQuerySingleLine(${quote(sql)})`, {
      format: "TabSeparatedRaw",
    });
    return result.text().trimEnd();
  } catch (cause) {
    const error = toDatabaseError(cause);
    // An error that quotes odd characters of the statement is cut off there.
    if (/^Code: 62\b/.test(error.message)) throw new DatabaseError(62, "SYNTAX_ERROR", error.message.slice(24));
    throw new DatabaseError(error.code, error.type, error.message.replace(/: In scope SELECT formatQuery[\s\S]*$/, ""));
  }
}

/** Our limits, the caller's settings within them, the tag. */
function preamble({ format, settings, parameters }: Statement, permission: Permission, tag: string): string {
  if (!isFormat(format)) throw new DatabaseError(73, "UNKNOWN_FORMAT", `Format ${format} is not served here.`);
  for (const [name, value] of Object.entries(settings)) checkSetting(name, value, permission);
  // How many threads are best is the engine's to say; only a caller may want fewer.
  const { max_threads: _, ...limits } = permission.limits;
  const all = { ...limits, ...settings, log_comment: tag };
  const given = Object.entries(parameters).map(([name, value]) => {
    if (!/^[A-Za-z0-9_]+$/.test(name)) throw badArguments(`"${name}" is no name of a parameter.`);
    return `param_${name} = ${quote(value)}`;
  });
  return `SET ${[...Object.entries(all).map(([name, value]) => `${name} = ${quote(String(value))}`), ...given].join(", ")}`;
}
