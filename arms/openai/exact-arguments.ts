// Arguments of calls that an endpoint sends as objects and not as texts. They become texts as they
// are written: parsed, an id of 19 digits is another number. Linear.
import { rawItems, rawMembers } from "../../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../../algorithms/text/json-shape.ts";

type Json = Record<string, unknown>;

/** Where a call has its arguments, by the member that says what is called. */
const argumentsOf = { function: "arguments", custom: "input", function_call: "arguments" } as const;
type Called = keyof typeof argumentsOf;
const calledOf: readonly Called[] = ["function", "custom"];

/** Changes a value that was parsed of `text`: a body, or an event of a stream. */
export function writeArguments(value: unknown, text: string): void {
  if (!isObject(value)) return;
  let written: readonly string[] | undefined;
  for (const [index, choice] of listOf(value["choices"]).entries())
    for (const name of ["message", "delta"] as const) {
      const message = isObject(choice) ? choice[name] : null;
      if (!isObject(message) || !callsIn(message).some(({ call, called }) => isParsed(call, called))) continue;
      written ??= itemsOf(rawMembers(text).get("choices"));
      const members = rawMembers(rawMembers(written[index] ?? "{}").get(name) ?? "{}");
      const texts = itemsOf(members.get("tool_calls"));
      for (const { call, called, at } of callsIn(message)) {
        if (!isParsed(call, called)) continue;
        const own = at === null ? members : rawMembers(texts[at] ?? "{}");
        const argument = argumentsOf[called];
        const raw = rawMembers(own.get(called) ?? "{}").get(argument);
        if (raw !== undefined) (call[called] as Json)[argument] = raw;
      }
    }
}

/** Calls of tools, and the call of a function as it was before (`at`: null). */
function callsIn(message: Json): { call: Json; called: Called; at: number | null }[] {
  const { tool_calls: calls } = message;
  const each = isObject(calls) ? [calls] : listOf(calls);
  const found = each.flatMap((call, at) => (isObject(call) ? calledOf.map((called) => ({ call, called, at })) : []));
  return [...found, { call: message, called: "function_call", at: null }];
}

function isParsed(call: Json, called: Called): boolean {
  const of = call[called];
  return isObject(of) && isObject(of[argumentsOf[called]]);
}

/** A single value counts as a list of itself. */
const itemsOf = (json = "[]"): readonly string[] => (json.startsWith("[") ? rawItems(json) : [json]);
