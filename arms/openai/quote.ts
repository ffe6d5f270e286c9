// What an endpoint said, fit to be passed on: without keys, and without the prompt that it repeats,
// for errors are recorded where prompts may not be. Pure.
import type { Credentials } from "./body.ts";

/** Keys by their form, masked ones too; and what stands in an address besides its host and path. */
const secrets: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic|token|api[_-]?key)([\s:="']{1,4})[\w.~+/=-]{8,}/gi, "$1$2[key]"],
  [/\b(?:sk|pk|rk|gsk|xai|hf|nvapi|AIza|AKIA|eyJ|prk)[-_]?[\w.*-]{8,}/g, "[key]"],
  [/(?<![\w*-])[\w-]{0,40}\*{3,200}[\w-]{0,40}/g, "[key]"],
  [/(https?:\/\/)[^\s/@]*@/gi, "$1"],
  [/(https?:\/\/[^\s?"'<>]*)\?[^\s"'<>]*/gi, "$1"],
];

/** Characters that a text of the prompt shares with it at least, to be left out. */
const shortest = 16;

/** `texts`: what was sent. Linear in them for each character of the message, which is short. */
export function quotable(message: string, credentials: Credentials, texts: readonly string[]): string {
  let quote = message;
  for (const key of keysIn(credentials)) quote = quote.replaceAll(key, "[key]");
  for (const [pattern, instead] of secrets) quote = quote.replace(pattern, instead);
  return withoutPrompt(quote, texts);
}

/** The key, and the long words of headers; "Bearer", names and versions are short. */
const keysIn = ({ apiKey, headers }: Credentials): string[] => [
  ...(apiKey.length < 4 ? [] : [apiKey]),
  ...Object.values(headers).flatMap((value) => value.split(/\s+/).filter((word) => word.length >= 12)),
];

/** Both on one line, as endpoints quote a text in JSON, in Python, or as it is. */
const flat = (text: string): string => text.replace(/\\[nrt]|\s+/g, " ").replace(/\\(["'\\])/g, "$1");

function withoutPrompt(message: string, texts: readonly string[]): string {
  const quote = flat(message);
  const sent = texts.map((text) => flat(text).trim()).filter((text) => text.length >= 4);
  let cleaned = "";
  for (let at = 0; at < quote.length;) {
    const long = sent.reduce((most, text) => Math.max(most, sharedFrom(quote, at, text)), 0);
    if (long === 0) cleaned += quote[at++] ?? "";
    else {
      cleaned += "[prompt]";
      at += long;
    }
  }
  return cleaned;
}

/** How many characters from `at` on stand in the text: `shortest` or more, or all of it. */
function sharedFrom(quote: string, at: number, text: string): number {
  // A short text is left out where it stands in quotation marks, whole.
  if (text.length < shortest)
    return /["'`:]\s?$/.test(quote.slice(0, at)) && quote.startsWith(text, at) ? text.length : 0;
  let long = shortest;
  if (at + long > quote.length || !text.includes(quote.slice(at, at + long))) return 0;
  while (at + long < quote.length && text.includes(quote.slice(at, at + long + 1))) long++;
  return long;
}
