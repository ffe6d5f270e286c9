// Decides what a statement may do: read, and with the write token change tables; never files,
// network, programs or engine settings. It checks the tokens of the formatter's text (engine.ts),
// which is what runs, and refuses in doubt.
import { engines, isFormat, limitNames, refusedFunctions, settings, tableFunctions, type Limits } from "./allowed.ts";
import { accessDenied, constraintViolation, readonlyMode } from "./errors.ts";
import { tokensOf, type Token } from "./lexer.ts";

export interface Permission {
  readOnly: boolean;
  limits: Limits;
  /** Every table function of the engine, in small letters. */
  knownTableFunctions: ReadonlySet<string>;
  /** Values of {name:Type}. */
  parameters: Readonly<Record<string, string>>;
}

const reads = new Set(["SELECT", "WITH", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "VALUES"]);
const writes = [
  /^INSERT INTO (?!FUNCTION |TABLE )/,
  /^CREATE (OR REPLACE )?(TABLE|VIEW|MATERIALIZED VIEW|DATABASE) /,
  /^(ALTER|TRUNCATE|OPTIMIZE|RENAME) TABLE /,
  /^DROP (TABLE|VIEW|DATABASE) /,
  /^DELETE FROM /,
];
const writable =
  "INSERT INTO a table, CREATE or DROP of TABLE, VIEW and DATABASE, ALTER, TRUNCATE, OPTIMIZE and RENAME TABLE, DELETE FROM";
// Parts of a statement that reach beyond its tables, wherever they stand.
const refusedWords = new Set(["OUTFILE", "INFILE", "PARALLEL"]);
const refusedInAlter = new Set(["ATTACH", "DETACH", "FETCH", "FREEZE", "UNFREEZE", "MOVE", "EXPORT"]);
/** The only setting of a table that may change later. */
const isAlterable = (name?: Token, _equals?: Token, _value?: Token, end?: Token): boolean =>
  name?.text === "non_replicated_deduplication_window" && isSymbol(end, ")");

/** First word in capitals, comments and brackets skipped; "" if none. */
export function firstKeyword(sql: string): string {
  const start = /^(?:\s+|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()*/.exec(sql)?.[0].length ?? 0;
  return (/^[A-Za-z]+/.exec(sql.slice(start))?.[0] ?? "").toUpperCase();
}

/** Which queue a statement waits in, never what it may do. */
export const looksLikeRead = (sql: string): boolean => reads.has(firstKeyword(sql));

/** READONLY, ACCESS_DENIED or SETTING_CONSTRAINT_VIOLATION unless it may run. */
export function checkStatement(formatted: string, permission: Permission): void {
  const keyword = firstKeyword(formatted);
  if (!reads.has(keyword)) {
    if (permission.readOnly)
      throw readonlyMode(
        `${keyword || "This statement"} writes, and here only ${[...reads].join(", ")} may run: ` +
          "use the write token (precedent stack token --write), POST, and no readonly setting.",
      );
    if (!writes.some((shape) => shape.test(formatted)))
      throw accessDenied(`${formatted.slice(0, 60)} is not served here: statements that write are ${writable}.`);
  }
  checkTokens([...tokensOf(formatted)], keyword, permission);
}

/** The same for expressions that stand outside of the statement: rows of VALUES. */
export function checkExpressions(text: string, permission: Permission): void {
  checkTokens([...tokensOf(text)], "", permission);
}

function checkTokens(tokens: readonly Token[], keyword: string, permission: Permission): void {
  const refused = permission.readOnly ? readonlyMode : accessDenied;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (token.kind === "word") {
      const word = token.text.toUpperCase();
      const isFixed = token.text === "SETTING" && !isAlterable(...tokens.slice(index + 1, index + 5));
      if (refusedWords.has(word) || (keyword === "ALTER" && (isFixed || refusedInAlter.has(token.text))))
        throw refused(`${word} is not served here: a statement reads and writes tables, and nothing else.`);
      if (token.text === "SETTINGS" || token.text === "SETTING") checkSettings(tokens, index + 1, permission);
      if (token.text === "FORMAT") checkFormat(next, refused);
      if (token.text === "ENGINE" && isSymbol(next, "=")) checkEngine(tokens[index + 2]);
    }
    if (token.kind === "word" || token.kind === "name") checkName(tokens, index, permission);
  });
}

function checkName(tokens: readonly Token[], index: number, permission: Permission): void {
  const refused = permission.readOnly ? readonlyMode : accessDenied;
  const [before, token, next, type] = [tokens[index - 1], tokens[index], tokens[index + 1], tokens[index + 2]];
  let name = token?.text ?? "";
  if (isSymbol(before, "{") && isSymbol(next, ":"))
    name = type?.text === "Identifier" ? (permission.parameters[name] ?? "") : "";
  if (refusedFunctions.has(name.toLowerCase()))
    throw refused(`"${name}" is not served here: only tables and functions that compute may be used.`);
  const called = isSymbol(next, "(") && permission.knownTableFunctions.has(name.toLowerCase());
  if (called && !tableFunctions.has(name.toLowerCase()))
    throw refused(
      `"${name}" is not served here: of the table functions only ${[...tableFunctions].join(", ")} may run.`,
    );
}

function checkSettings(tokens: readonly Token[], from: number, permission: Permission): void {
  for (let at = from; ; at += 1) {
    const [name, equals, first, second] = tokens.slice(at, at + 4);
    if (name === undefined || (name.kind !== "word" && name.kind !== "name") || !isSymbol(equals, "="))
      throw accessDenied("SETTINGS is followed by name = value, where value is a number or a string.");
    const negative = isSymbol(first, "-");
    const value = negative ? second : first;
    const literal = value?.kind === "number" || value?.kind === "string" || /^(true|false)$/i.test(value?.text ?? "");
    if (value === undefined || !literal)
      throw accessDenied(`Setting ${name.text} takes a number or a string, not ${value?.text ?? "nothing"}.`);
    checkSetting(name.text, `${negative ? "-" : ""}${value.text.replace(/^'|'$/g, "")}`, permission);
    at += negative ? 4 : 3;
    if (!isSymbol(tokens[at], ",") || !isSymbol(tokens[at + 2], "=")) return;
  }
}

/** Throws unless the setting is on the list and within our limits. */
export function checkSetting(name: string, value: string, { readOnly, limits }: Permission): void {
  const refused = readOnly ? readonlyMode : accessDenied;
  const limited = limitNames.find((limit) => limit === name);
  if (limited === undefined) {
    if (settings.has(name)) return;
    throw refused(`Setting ${name} is not served here: only ${[...limitNames, ...settings].join(", ")} may be given.`);
  }
  const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
  if (!(number >= 1 && number <= limits[limited]))
    throw constraintViolation(`Setting ${name} can be from 1 to ${limits[limited]} here, not ${value}.`);
}

function checkFormat(format: Token | undefined, refused: (message: string) => Error): void {
  if (format === undefined || !isFormat(format.text))
    throw refused(`Format ${format?.text ?? "?"} is not served here.`);
}

function checkEngine(engine: Token | undefined): void {
  if (engine === undefined || !engines.has(engine.text))
    throw accessDenied(
      `Engine ${engine?.text ?? "?"} is not served here: only ${[...engines].join(", ")} may be used.`,
    );
}

const isSymbol = (token: Token | undefined, text: string): boolean => token?.kind === "symbol" && token.text === text;
