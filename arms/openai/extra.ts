// An endpoint's message besides its text and its calls of tools: log probabilities and others, put
// together from OpenAI's stream: texts appended, lists joined. Linear.
import { wellFormedJson } from "../../algorithms/text/well-formed.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";

type Json = Record<string, unknown>;

const read = new Set(["role", "content", "tool_calls", "usage"]);
/** Said once, however often they come. */
const once = new Set(["id", "type", "name", "index", "role"]);

export function createExtra() {
  const message = new Map<string, unknown>();
  let logprobs: Json | null = null;
  let length = 0;

  return {
    add(piece: Json, reported: Json | null): void {
      for (const [name, value] of Object.entries(piece)) {
        if (read.has(name) || value === null || value === undefined) continue;
        length += JSON.stringify(value).length;
        message.set(name, merged(message.get(name), value));
      }
      if (reported === null) return;
      length += JSON.stringify(reported).length;
      logprobs = merged(logprobs ?? undefined, reported) as Json;
    },
    length: (): number => length,
    /** With these calls of tools; null: nothing. */
    json(calls: readonly Json[]): string | null {
      const members = [...message, ...(calls.length > 0 ? [["tool_calls", calls] as const] : [])].filter(
        ([, value]) => !(Array.isArray(value) && value.length === 0),
      );
      if (members.length === 0 && logprobs === null) return null;
      return wellFormedJson({
        ...(members.length > 0 && { message: Object.fromEntries(members) }),
        ...(logprobs !== null && { logprobs }),
      });
    },
  };
}

/** Changes `before` where it can. */
export function merged(before: unknown, next: unknown, name = ""): unknown {
  if (before === undefined || before === null) return next;
  if (next === undefined || next === null) return before;
  if (typeof before === "string" && typeof next === "string") return once.has(name) ? next || before : before + next;
  if (Array.isArray(before) && Array.isArray(next)) {
    for (const one of next as unknown[]) (before as unknown[]).push(one);
    return before;
  }
  if (!isObject(before) || !isObject(next)) return next;
  for (const [key, value] of Object.entries(next))
    if (key !== "__proto__") before[key] = merged(Object.hasOwn(before, key) ? before[key] : undefined, value, key);
  return before;
}
