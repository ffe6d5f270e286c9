// Bodies as JSON, within a depth: what is nested deeper is refused before it is parsed, for
// whatever walks the value afterwards does so by recursion.
import { badRequest } from "./errors.ts";

const mostDepth = 64;

const texts = new WeakMap<object, string>();

/** The text of which parseJson made a value, once; undefined: of no text, or taken already. */
export function takeText(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const text = texts.get(value);
  texts.delete(value);
  return text;
}

/** Throws ApiError. */
export function parseJson(text: string): unknown {
  if (depthOf(text, mostDepth) > mostDepth)
    throw badRequest(`The body is nested deeper than ${mostDepth} levels.`, undefined, "json_too_deep");
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) texts.set(value, text);
    return value;
  } catch {
    throw badRequest("The body is no valid JSON.", undefined, "invalid_json");
  }
}

/** How deep brackets outside of strings are nested; stops when it is more than `enough`. */
function depthOf(text: string, enough: number): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length && deepest <= enough; at++) {
    const character = text.charCodeAt(at);
    if (inString) {
      if (character === backslash) at++;
      else if (character === quote) inString = false;
    } else if (character === quote) inString = true;
    else if (character === openBrace || character === openBracket) deepest = Math.max(deepest, ++depth);
    else if (character === closeBrace || character === closeBracket) depth--;
  }
  return deepest;
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [34, 92, 123, 125, 91, 93];
