// Splits an INSERT into statement and rows. chdb would end rows at a blank line and run the rest,
// and evaluates VALUES: so rows it would read differently are refused or rewritten.
import { DatabaseError, notImplemented } from "./errors.ts";
import { tokensOf, type Token } from "./lexer.ts";

export interface Insert {
  head: string;
  data: string;
}

const mostValues = 4 * 1_048_576;

/** Parts of an INSERT with rows; undefined for INSERT ... SELECT. */
export function splitInsert(sql: string): Insert | undefined {
  let depth = 0;
  let previous: Token | undefined;
  // The head is read token by token: its rows are none of ClickHouse's tokens.
  for (const token of tokensOf(sql, { skipComments: true })) {
    const word = token.kind === "word" ? token.text.toUpperCase() : "";
    if (token.kind === "symbol" && "([{".includes(token.text)) depth += 1;
    if (token.kind === "symbol" && ")]}".includes(token.text)) depth -= 1;
    if (depth === 0 && (word === "SELECT" || word === "WITH" || word === "FROM")) return undefined;
    if (depth === 0 && previous?.kind === "word" && previous.text.toUpperCase() === "FORMAT" && token.kind === "word")
      return { head: sql.slice(0, token.end), data: sql.slice(token.end) };
    // A table may have the name values; the word that begins the rows follows a name or a bracket.
    if (depth === 0 && word === "VALUES" && !/^(INTO|TABLE|\.)$/i.test(previous?.text ?? ""))
      return { head: sql.slice(0, token.end), data: sql.slice(token.end) };
    previous = token;
  }
  return undefined;
}

/** Table of an INSERT of plain JSON lines, which chdb may read as they came; else undefined. */
export function plainTarget(formatted: string, data: Buffer): string | undefined {
  const table = /^INSERT INTO (\w+(?:\.\w+)?) FORMAT JSONEachRow$/.exec(formatted)?.[1];
  if (table === undefined || data[0] !== 0x7b) return undefined;
  return ["\n\n", "\n\r", "\n ", "\n\t", "\n\v", "\n\f"].some((blank) => data.includes(blank)) ? undefined : table;
}

/** Rows as one piece, and the tokens to check where rows hold expressions. */
export function insertData(format: string, data: string): { text: string; expressions: string } {
  if (format === "Values") {
    const text = values(data);
    return { text, expressions: text };
  }
  // JSON has no line ends within strings, so blank lines stand between rows.
  const joined = format.startsWith("JSON")
    ? data
        .split("\n")
        .filter((line) => line.trim() !== "")
        .join("\n")
    : data.slice(beginOf(data), endOf(data, "\r\n"));
  if (joined.includes("\n\n") || joined.includes("\n\r\n"))
    throw notImplemented(
      `Rows in ${format} with a blank line among them can't be inserted here (it would end them): send JSONEachRow.`,
    );
  return { text: joined, expressions: "" };
}

/** Behind the blank rest of the line on which the head ends. */
function beginOf(data: string): number {
  const line = data.indexOf("\n");
  return line >= 0 && data.slice(0, line).trim() === "" ? line + 1 : 0;
}

/** Where the characters at the end begin. */
function endOf(data: string, characters: string): number {
  let end = data.length;
  while (end > 0 && characters.includes(data.charAt(end - 1))) end -= 1;
  return end;
}

/** Tuples as they were, from their tokens: no comment, no semicolon and nothing behind them. */
function values(data: string): string {
  if (data.length > mostValues)
    throw new DatabaseError(131, "TOO_LARGE_STRING_SIZE", `VALUES are over ${mostValues} bytes: send JSONEachRow.`);
  let text = "";
  let depth = 0;
  let end = 0;
  for (const token of tokensOf(data.slice(0, endOf(data, "; \t\r\n")))) {
    if (token.kind === "symbol" && token.text === "(") depth += 1;
    else if (depth === 0 && token.text !== ",")
      throw new DatabaseError(62, "SYNTAX_ERROR", `VALUES are rows in brackets: ${token.text.slice(0, 40)} is none.`);
    if (token.kind === "symbol" && token.text === ")") depth -= 1;
    text += `${token.start > end ? " " : ""}${data.slice(token.start, token.end)}`;
    end = token.end;
  }
  return text;
}
