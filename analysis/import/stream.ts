// An answer put together from its logged stream: OpenAI's chat and Responses, Anthropic. Pure.
import { listOf } from "../../algorithms/text/json-shape.ts";
import { isNone, objectOf, parsed, type Json } from "./foreign.ts";

/** The body that an answer would have had without a stream; what is no stream as it is. */
export function unstreamed(value: unknown): unknown {
  const events = eventsIn(value);
  return events.length === 0 ? value : bodyOf(events);
}

/** The events of a text with server-sent events, or of a list of chunks; []: it is neither. */
function eventsIn(value: unknown): Json[] {
  const lines =
    typeof value === "string" && /^\s*(?:event|data|id): ?\S/.test(value)
      ? value.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [parsed(line.slice(5))] : []))
      : listOf(value);
  const events = lines.map(objectOf).filter((event) => event !== undefined);
  return events.some(isEvent) ? events : [];
}

const isEvent = (event: Json): boolean =>
  listOf(event["choices"]).some((choice) => objectOf(choice)?.["delta"] !== undefined) ||
  (typeof event["type"] === "string" && /^(?:message_start|content_block_|response\.)/.test(event["type"]));

function bodyOf(events: readonly Json[]): unknown {
  const whole = events.findLast(({ type }) => type === "response.completed" || type === "response.incomplete");
  if (whole !== undefined) return whole["response"];
  const usage = Object.assign(
    {},
    ...events.flatMap((event) => [objectOf(objectOf(event["message"])?.["usage"]), objectOf(event["usage"])]),
  ) as Json;
  return { ...(events.some(({ type }) => typeof type === "string") ? messageOf(events) : completionOf(events)), usage };
}

function completionOf(events: readonly Json[]): Json {
  let [content, reason]: [string | null, unknown] = [null, null];
  const calls = new Map<unknown, { id: unknown; name: unknown; arguments: string }>();
  for (const event of events) {
    const choice = objectOf(listOf(event["choices"]).find((one) => (objectOf(one)?.["index"] ?? 0) === 0));
    const delta = objectOf(choice?.["delta"]);
    if (typeof delta?.["content"] === "string") content = (content ?? "") + delta["content"];
    reason = choice?.["finish_reason"] ?? reason;
    for (const one of listOf(delta?.["tool_calls"]).map(objectOf)) {
      const given = objectOf(one?.["function"]);
      const known = calls.get(one?.["index"]) ?? { id: one?.["id"], name: given?.["name"], arguments: "" };
      calls.set(one?.["index"], { ...known, arguments: known.arguments + textOf(given?.["arguments"]) });
    }
  }
  const made = [...calls.values()].map(({ id, ...called }) => ({ id, type: "function", function: called }));
  return { choices: [{ message: { role: "assistant", content, tool_calls: made }, finish_reason: reason }] };
}

function messageOf(events: readonly Json[]): Json {
  const blocks = new Map<unknown, Record<string, unknown>>();
  let reason: unknown = null;
  for (const event of events) {
    const [index, delta] = [event["index"], objectOf(event["delta"])];
    const block = blocks.get(index);
    if (event["type"] === "content_block_start") blocks.set(index, { ...objectOf(event["content_block"]) });
    else if (typeof delta?.["text"] === "string" && block) block["text"] = textOf(block["text"]) + delta["text"];
    else if (typeof delta?.["partial_json"] === "string" && block)
      // Before the first piece it is an empty object.
      block["input"] = textOf(block["input"]) + delta["partial_json"];
    reason = delta?.["stop_reason"] ?? reason;
  }
  return { role: "assistant", content: [...blocks.values()], ...(isNone(reason) ? {} : { stop_reason: reason }) };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
