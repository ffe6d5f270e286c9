// Tokens of ClickHouse's SQL, strict: unknown ones are refused. Reads the formatter's form, and as
// sent only the head of an INSERT and rows of VALUES.
import { DatabaseError } from "./errors.ts";

export interface Token {
  /** word: a bare name or keyword; name: a quoted name, unescaped; symbol: one character. */
  kind: "word" | "name" | "string" | "number" | "symbol";
  /** The text of a string includes its quotes. */
  text: string;
  start: number;
  end: number;
}

// Sticky, in the order in which they are tried. A string's escapes are a backslash or a doubled
// quote, as in ClickHouse's lexer.
const shapes: readonly (readonly [Token["kind"], RegExp])[] = [
  ["word", /[A-Za-z_][A-Za-z0-9_$]*/y],
  ["string", /'(?:[^'\\]|\\[\s\S]|'')*'/y],
  ["name", /`(?:[^`\\]|\\[\s\S]|``)*`|"(?:[^"\\]|\\[\s\S]|"")*"/y],
  ["number", /0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/y],
  ["symbol", /[()[\]{}.,:=<>!+\-*/%|?@^]/y],
];
const space = /[ \t\r\n\f\v]+/y;
const comment = /--[^\n]*|#[ !][^\n]*|\/\*[\s\S]*?\*\//y;

/** SYNTAX_ERROR at what is no token; comments are tokens unless skipped. */
export function* tokensOf(sql: string, options: { skipComments?: boolean } = {}): Generator<Token, void> {
  let at = 0;
  const match = (shape: RegExp): string | undefined => {
    shape.lastIndex = at;
    return shape.exec(sql)?.[0];
  };
  for (;;) {
    const skipped = match(space) ?? match(comment);
    if (skipped !== undefined && (options.skipComments === true || /^\s/.test(skipped))) {
      at += skipped.length;
      continue;
    }
    if (at >= sql.length) return;
    const found = skipped === undefined ? firstOf(match) : undefined;
    if (found === undefined)
      throw new DatabaseError(
        62,
        "SYNTAX_ERROR",
        `Character ${at + 1} (${JSON.stringify(sql.slice(at, at + 20))}) can't be read here: ` +
          "one statement, without a semicolon in it, with names and strings in plain quotes.",
      );
    const [kind, text] = found;
    yield { kind, text: kind === "name" ? unquoted(text) : text, start: at, end: at + text.length };
    at += text.length;
  }
}

function firstOf(match: (shape: RegExp) => string | undefined): [Token["kind"], string] | undefined {
  for (const [kind, shape] of shapes) {
    const text = match(shape);
    if (text !== undefined) return [kind, text];
  }
  return undefined;
}

const unquoted = (text: string): string =>
  text
    .slice(1, -1)
    .replace(text.startsWith("`") ? /``/g : /""/g, (pair) => pair[0] ?? "")
    .replace(/\\([\s\S])/g, "$1");
