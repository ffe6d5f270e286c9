// Personal data in JSON, string by string and number by number, also where a string is JSON itself
// (arguments of tools). The result is JSON of the same shape; what is clean keeps its text. Linear.
import { endOfString } from "../text/exact-json.ts";

/** `name`: of the member that the text is the value of; "": of none. */
export type CleanValue = (text: string, name: string) => string;

/** null: the text is no JSON object or array. A number with personal data becomes 0. */
function cleanJson(json: string, clean: CleanValue): string | null {
  if (!isJson(json)) return null;
  const parts: string[] = [];
  let [done, name] = [0, ""];
  const replace = (from: number, to: number, text: string): void => {
    parts.push(json.slice(done, from), text);
    done = to;
  };
  for (let at = 0; at < json.length; at++) {
    const character = json[at]!;
    if (character === "{" || character === "}") name = "";
    else if (character === '"') {
      const end = endOfString(json, at);
      const value = JSON.parse(json.slice(at, end)) as string;
      const isName = json[endOfBlanks(json, end)] === ":";
      const of = isName ? "" : name;
      const cleaned = cleanText(value, clean, (text) => clean(text, of));
      if (cleaned !== value) replace(at, end, JSON.stringify(cleaned));
      if (isName) name = value;
      at = end - 1;
    } else if (isInNumber.test(character)) {
      const start = at;
      while (isInNumber.test(json[at + 1] ?? "")) at++;
      const digits = digitsOf(json.slice(start, at + 1));
      if (digits.length >= fewestDigits && clean(digits, name) !== digits) replace(start, at + 1, "0");
    } else if (/[a-z]/.test(character)) while (/[a-z]/.test(json[at + 1] ?? "")) at++;
  }
  return done === 0 ? json : parts.join("") + json.slice(done);
}

/** JSON in it, alone or within prose, stays JSON; `prose` cleans the rest. */
export const cleanText = (text: string, clean: CleanValue, prose: (text: string) => string): string =>
  cleanJson(text, clean) ??
  pieces(text)
    .map((piece) => cleanJson(piece, clean) ?? prose(piece))
    .join("");

const opening = /```[^\n`]*\n(?=\s*\[)|(?=\{\s*"|\[\s*[{"])/g;
/** How often a text is read where JSON only seems to begin. */
const mostReads = 4;

/** The text cut where JSON begins and ends. */
function pieces(text: string): string[] {
  const found: string[] = [];
  let done = 0;
  opening.lastIndex = 0;
  for (let left = mostReads * text.length; left >= 0;) {
    const match = opening.exec(text);
    if (match === null) break;
    const start = match.index + match[0].length;
    const end = endOfValue(text, start);
    const isWhole = end > start && isJson(text.slice(start, end));
    if (isWhole) {
      found.push(text.slice(done, start), text.slice(start, end));
      done = end;
    } else left -= (end > start ? end : text.length) - start;
    opening.lastIndex = isWhole ? end : start + 1;
  }
  return [...found, text.slice(done)];
}

/** Behind the bracket that closes the one at `at`; -1: none does. */
function endOfValue(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const character = text[i]!;
    if (character === '"') i = endOfString(text, i) - 1;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return i + 1;
  }
  return -1;
}

const isInNumber = /[\d.eE+-]/;
const fewestDigits = 4;

/** Digits of a whole number, however it is written (4.1e15); "": it is none. */
function digitsOf(number: string): string {
  if (/^-?\d+$/.test(number)) return number.replace("-", "");
  const value = Math.abs(Number(number));
  return Number.isSafeInteger(value) ? String(value) : "";
}

function endOfBlanks(json: string, from: number): number {
  let at = from;
  while (/[ \t\r\n]/.test(json[at] ?? "")) at++;
  return at;
}

function isJson(text: string): boolean {
  const whole = text.trim();
  // An exception takes longer than most texts.
  if (!["[]", "{}"].includes(`${whole[0] ?? ""}${whole.at(-1) ?? ""}`)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
