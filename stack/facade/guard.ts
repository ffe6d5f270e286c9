// What a caller without the token may run: one statement that only reads tables.
// chdb's own readonly=1 refuses writes, table functions and changed settings, but it was seen to let INTO OUTFILE, the scalar function
// file(), eval() and KILL QUERY through, and raw chdb runs several statements a query. This closes those, on the text that
// formatQuerySingleLine made of the query: comments are gone, identifiers are unquoted where they can be, several statements are refused.
import { readonlyMode } from "./errors.ts";

const reads = new Set(["SELECT", "WITH", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "VALUES"]);
// Strings and quoted names in one pass: a quote within the other kind opens nothing.
const quoted = /'(?:[^'\\]|\\.|'')*'|`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*"/gs;
// Wherever the name stands: a function can be passed to another, as in arrayMap(file, ...). {file:String} is a parameter.
const forbiddenName = /\b(file|eval)\b(?!\s*:)/;

/** The first word of a statement in capitals, comments and opening brackets skipped; "" if there is none. */
export function firstKeyword(sql: string): string {
  const start = /^(?:\s+|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()*/.exec(sql)?.[0].length ?? 0;
  return (/^[A-Za-z]+/.exec(sql.slice(start))?.[0] ?? "").toUpperCase();
}

/** Whether a statement is a query by its first word; says only which queue it waits in, never what it may do. */
export const looksLikeRead = (sql: string): boolean => reads.has(firstKeyword(sql));

/** 1: as anybody without the token may; 2: as a holder of the token who asked to be held to reading (settings and table functions may be used). */
export type ReadOnlyLevel = 1 | 2;

/** Throws READONLY unless the normalised statement only reads. */
export function assertReadOnly(normalised: string, level: ReadOnlyLevel): void {
  const keyword = firstKeyword(normalised);
  if (!reads.has(keyword))
    throw readonlyMode(
      level === 2
        ? `${keyword || "This statement"} can't run read-only: POST it without readonly.`
        : `${keyword || "This statement"} needs the token: without it only ${[...reads].join(", ")} may run. ` +
            `Pass the stack's token as the password of user "default".`,
    );
  const bare = normalised.replace(quoted, "''");
  if (/\bINTO\s+OUTFILE\b/i.test(bare)) throw readonlyMode("INTO OUTFILE writes, and this statement may only read.");
  const name = forbiddenName.exec(bare)?.[1];
  if (name !== undefined && level === 1)
    throw readonlyMode(`"${name}" is not allowed without the token: only tables of this database may be read.`);
}
