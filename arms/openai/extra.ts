// An endpoint's message besides its text: tool calls, log probabilities and others, put together
// from OpenAI's stream: by index, texts appended, lists joined. Linear.
type Json = Record<string, unknown>;

export interface Extra {
  add(message: Json, logprobs: Json | null): void;
  length(): number;
  /** null: nothing. */
  json(): string | null;
}

const read = new Set(["role", "content", "refusal"]);
/** Said once, however often they come. */
const once = new Set(["id", "type", "name", "index", "role"]);
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const isCall = (value: unknown): value is Json & { index: number } =>
  isJson(value) && Number.isSafeInteger(value["index"]);

export function createExtra(): Extra {
  const message = new Map<string, unknown>();
  const calls = new Map<number, Json>();
  let logprobs: Json | null = null;
  let length = 0;

  return {
    add(piece, reported) {
      for (const [name, value] of Object.entries(piece)) {
        if (read.has(name) || value === null || value === undefined) continue;
        length += JSON.stringify(value).length;
        if (name === "tool_calls" && Array.isArray(value) && value.length > 0 && value.every(isCall)) {
          for (const { index, ...call } of value) calls.set(index, merged(calls.get(index), call) as Json);
          message.set(name, undefined);
        } else message.set(name, merged(message.get(name), value));
      }
      if (reported === null) return;
      length += JSON.stringify(reported).length;
      logprobs = merged(logprobs ?? undefined, reported) as Json;
    },
    length: () => length,
    json() {
      const listed = [...calls].sort(([one], [other]) => one - other).map(([, call]) => call);
      const members = [...message]
        .map(([name, value]) => [name, name === "tool_calls" && listed.length > 0 ? listed : value] as const)
        .filter(([, value]) => !(Array.isArray(value) && value.length === 0));
      if (members.length === 0 && logprobs === null) return null;
      return JSON.stringify({
        ...(members.length > 0 && { message: Object.fromEntries(members) }),
        ...(logprobs !== null && { logprobs }),
      });
    },
  };
}

function merged(before: unknown, next: unknown, name = ""): unknown {
  if (before === undefined || before === null) return next;
  if (next === undefined || next === null) return before;
  if (typeof before === "string" && typeof next === "string") return once.has(name) ? next || before : before + next;
  if (Array.isArray(before) && Array.isArray(next)) {
    for (const one of next as unknown[]) (before as unknown[]).push(one);
    return before;
  }
  if (!isJson(before) || !isJson(next)) return next;
  for (const [key, value] of Object.entries(next))
    if (key !== "__proto__") before[key] = merged(Object.hasOwn(before, key) ? before[key] : undefined, value, key);
  return before;
}
