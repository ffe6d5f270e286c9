// Replaces personal data in each text of a request by itself, equal values by equal placeholders
// (placeholders.ts). JSON stays valid: its strings are cleaned one by one. Pure.
import { replacePersonalData, type PersonalDataOptions } from "./pii.ts";

export interface MaskItem {
  text: string;
  scope: string;
  /** A text by default. */
  form?: "text" | "json";
}

export interface MaskOptions extends Pick<PersonalDataOptions, "ipAddresses"> {
  key: string;
}

/** Stands for a text that could not be checked in time. */
export const withheldText = "<WITHHELD_TEXT>";

export const scopeOf = (tenant: string, requestId: string): string =>
  `${Buffer.byteLength(tenant)}:${tenant}${requestId}`;

/** In order. Doing it again changes nothing. */
export const mask = (items: readonly MaskItem[], options: MaskOptions): string[] =>
  items.map(({ text, scope, form }) => {
    const { key, ...more } = options;
    const clean = (one: string): string =>
      replacePersonalData([one], { ...more, keyed: { key, scope } }).texts[0] ?? one;
    return form === "json" ? maskJson(text, clean) : clean(text);
  });

/** What is no JSON is cleaned as the text that it is. */
function maskJson(text: string, clean: (text: string) => string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return clean(text);
  }
  let changed = false;
  // Parsed without recursion limits, so walked without: nested deeper than the stack, it is no
  // record of ours.
  const walk = (one: unknown, depth: number): unknown => {
    if (depth > deepest) {
      changed = true;
      return withheldText;
    }
    if (typeof one === "string") {
      const cleaned = clean(one);
      changed ||= cleaned !== one;
      return cleaned;
    }
    if (Array.isArray(one)) return one.map((each) => walk(each, depth + 1));
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(
      Object.entries(one).map(([name, each]) => [walk(name, depth + 1) as string, walk(each, depth + 1)]),
    );
  };
  const masked = walk(value, 0);
  return changed ? JSON.stringify(masked) : text;
}
const deepest = 500;
