// A statement as it is run: formatted, checked by guard.ts, with an INSERT's rows and limits.
import type { RawInsertParams, Session } from "chdb";
import { LRUCache } from "lru-cache";
import { isFormat } from "./allowed.ts";
import { badArguments, DatabaseError, toDatabaseError } from "./errors.ts";
import { checkExpressions, checkSetting, checkStatement, firstKeyword, type Permission } from "./guard.ts";
import { insertData, plainTarget, splitInsert } from "./insert.ts";
import { tokensOf } from "./lexer.ts";
import { sqlLiteral } from "../../algorithms/text/sql-literal.ts";

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

/**
 * One checked statement in the formatter's form, with an INSERT's rows. Stages' rows go on as they
 * came: as strings they would be copied half a dozen times.
 */
export async function allowed(
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
export function ownFormat(sql: string): string | undefined {
  if (!/\bFORMAT\b/.test(sql) || firstKeyword(sql) === "INSERT") return undefined;
  const tokens = [...tokensOf(sql)];
  const at = tokens.findLastIndex(({ kind, text }) => kind === "word" && text === "FORMAT");
  const [name, next] = [tokens[at + 1], tokens[at + 2]];
  const isLast = next === undefined || next.text === "SETTINGS";
  return at >= 0 && isLast ? name?.text : undefined;
}

/** The formatter's last results are cached: stages repeat few statements. */
export function createFormatter(): (session: Session) => (sql: string) => Promise<string> {
  const kept = new LRUCache<string, string>({ max: 256 });
  return (session) => async (sql) => {
    const known = kept.get(sql);
    if (known !== undefined) return known;
    const formatted = await normalise(session, sql);
    if (sql.length <= 8_192) kept.set(sql, formatted);
    return formatted;
  };
}

/** On one line without comments; SYNTAX_ERROR unless it is one statement. */
async function normalise(session: Session, sql: string): Promise<string> {
  try {
    const result = await session.queryAsync(`SELECT formatQuerySingleLine(${sqlLiteral(sql)})`, {
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
export function preamble({ format, settings, parameters }: Statement, permission: Permission, tag: string): string {
  if (!isFormat(format)) throw new DatabaseError(73, "UNKNOWN_FORMAT", `Format ${format} is not served here.`);
  for (const [name, value] of Object.entries(settings)) checkSetting(name, value, permission);
  // How many threads are best is the engine's to say; only a caller may want fewer.
  const { max_threads: _, ...limits } = permission.limits;
  const all = { ...limits, ...settings, log_comment: tag };
  const given = Object.entries(parameters).map(([name, value]) => {
    if (!/^[A-Za-z0-9_]+$/.test(name)) throw badArguments(`"${name}" is no name of a parameter.`);
    return `param_${name} = ${sqlLiteral(value)}`;
  });
  return `SET ${[...Object.entries(all).map(([name, value]) => `${name} = ${sqlLiteral(String(value))}`), ...given].join(", ")}`;
}
