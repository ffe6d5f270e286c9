// JSON as it is written: JSON.parse rounds integers beyond 2^53, and JSON.stringify spells numbers
// and strings in its own way. All of it is linear and without recursion.

/** Each member's value as it is written; the last of a repeated name, as JSON.parse has it. */
export const rawMembers = (object: string): Map<string, string> => new Map(slices(object));

/** The elements of an array as they are written. */
export const rawItems = (array: string): string[] => slices(array).map(([, value]) => value);

/** Names ("" in an array) and texts of what stands in a valid array or object. */
function slices(json: string): [name: string, text: string][] {
  const found: [string, string][] = [];
  let [depth, from, name] = [0, 0, ""];
  const take = (to: number): void => {
    const text = json.slice(from, to).trim();
    if (text !== "") found.push([name, text]);
    from = to + 1;
  };
  for (let at = 0; at < json.length; at++) {
    const character = json[at]!;
    if (character === '"') at = endOfString(json, at) - 1;
    else if (character === "{" || character === "[") {
      if (++depth === 1) from = at + 1;
    } else if (character === "}" || character === "]") {
      if (--depth === 0) take(at);
    } else if (depth === 1 && character === ":") {
      name = JSON.parse(json.slice(from, at)) as string;
      from = at + 1;
    } else if (depth === 1 && character === ",") take(at);
  }
  return found;
}

export const objectOf = (members: Iterable<readonly [string, string]>): string =>
  `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;

/**
 * JSON.parse, but for numbers that a double does not hold: integers beyond 2^53 and what is beyond
 * 1.8e308 become strings of their digits. Throws SyntaxError.
 */
export function parseExact(json: string): unknown {
  if (!mayBeInexact.test(json)) return JSON.parse(json);
  const parts: string[] = [];
  let done = 0;
  for (let at = 0; at < json.length; at++) {
    const character = json[at]!;
    if (character === '"') at = endOfString(json, at) - 1;
    else if (character === "-" || (character >= "0" && character <= "9")) {
      const number = numberAt(json, at);
      if (!isHeld(number)) {
        parts.push(json.slice(done, at), `"${number}"`);
        done = at + number.length;
      }
      at += Math.max(0, number.length - 1);
    }
  }
  return JSON.parse(parts.join("") + json.slice(done));
}

const mayBeInexact = /\d{16}|\d[eE]\+?\d{3}/;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y;

/** "": what stands there is no number of JSON. */
function numberAt(json: string, at: number): string {
  number.lastIndex = at;
  return number.exec(json)?.[0] ?? "";
}

const isHeld = (text: string): boolean =>
  /^-?\d+$/.test(text) ? text.length < 16 || Number.isSafeInteger(Number(text)) : Number.isFinite(Number(text));

/** Position behind the string whose first quote is at `at`. */
export function endOfString(json: string, at: number): number {
  for (let from = at + 1; ;) {
    const end = json.indexOf('"', from);
    if (end < 0) return json.length;
    let before = end;
    while (json[before - 1] === "\\") before--;
    if ((end - before) % 2 === 0) return end + 1;
    from = end + 1;
  }
}

/** JSON that goes on as it is written. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** JSON.stringify, but RawJson within stays as it is written. For values of bounded depth. */
export function exactJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((one) => exactJson(one ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return objectOf(
    Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[name, exactJson(one)] as const])),
  );
}
