// The shape of a value that was JSON: what other systems write may have any.

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Anything but a list counts as an empty one. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What the text is the JSON of; undefined: it is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The arguments of a tool's call as the JSON of an object; null: they are not an object. */
export function inputOf(text: unknown): string | null {
  if (typeof text !== "string") return null;
  if (text.trim() === "") return "{}";
  return isObject(jsonOf(text)) ? text : null;
}
