// The body of a call of the Messages API: a client's own, as it was written, or made of a chat
// completion's members or of the prompt's pieces.
import { exactJson, objectOf, rawItems, rawMembers } from "../../algorithms/text/exact-json.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { nativeMember } from "../../algorithms/text/message-blocks.ts";
import type { AnthropicArmConfig } from "../../config/sections/arms.ts";
import type { ArmRequest } from "../arm.ts";
import { chatMessages } from "../messages.ts";
import { inert } from "../openai/body.ts";
import { Unsendable } from "../openai/protocol.ts";
import { translatedTurns } from "./turns.ts";
import { formatOf, toolChoiceOf, toolsOf } from "./tools.ts";

/** JSON. Throws Unsendable. plan has seen that what passes through can be read. */
export function messagesBody(config: AnthropicArmConfig, request: ArmRequest): string {
  const { params, passthrough } = request;
  const members = rawMembers(passthrough ?? "{}");
  const native = members.get(nativeMember);
  const body = native === undefined ? translated(members, request) : ofClient(rawMembers(native), request);
  const stop = params.stop.length > 0 ? params.stop : config.stop;
  const ours = {
    model: config.model,
    max_tokens: params.maxTokens ?? config.maxTokens ?? config.maxOutputTokens,
    ...samplingOf(params, native !== undefined),
    ...(stop.length > 0 && { stop_sequences: stop }),
    stream: config.stream,
  };
  for (const [name, value] of Object.entries({ ...config.body, ...ours })) body.set(name, JSON.stringify(value));
  // A client that sets marks of its own knows where its prefixes end; the API takes four in all.
  if (![...body].some(([name, json]) => name === "cache_control" || json.includes('"cache_control"'))) markStable(body);
  return objectOf(body);
}

/** Newer models refuse temperature beside top_p: of the two, one of 1 (the default) is left out. */
function samplingOf({ temperature, topP }: ArmRequest["params"], isNative: boolean): object {
  const isBoth = !isNative && temperature !== null && topP !== null;
  return {
    ...(temperature !== null && !(isBoth && temperature === 1) && { temperature }),
    ...(topP !== null && !(isBoth && topP === 1) && { top_p: topP }),
  };
}

type Body = Map<string, string>;

/** The client's body unchanged, with the arm's system prompt if it has none. */
function ofClient(body: Body, { pieces }: ArmRequest): Body {
  body.delete("betas");
  // Fast answers cost several times the prices that are known here.
  body.delete("speed");
  const system = systemOf(pieces);
  if (!body.has("system") && system !== "") body.set("system", JSON.stringify(system));
  return body;
}

const systemOf = (pieces: ArmRequest["pieces"]): string =>
  chatMessages(pieces.filter(({ kind, role }) => kind === "system" && role === "system"))
    .map(({ content }) => content)
    .join("\n\n");

/** Members of a chat completion that the format has under another name or in another shape. */
const read = new Set([
  ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format"],
  "top_k",
]);

function translated(members: Body, { pieces }: ArmRequest): Body {
  for (const name of members.keys())
    if (!read.has(name)) throw new Unsendable(`${name.slice(0, 80)}, which the Messages API lacks`, name.slice(0, 80));
  const messages = members.get("messages");
  const given = messages ?? exactJson(chatMessages(pieces.map(inert)));
  const { system, turns } = translatedTurns(given);
  const own = messages === undefined || system.length > 0 ? system : [{ type: "text", text: systemOf(pieces) }];
  const body: Body = new Map();
  const set = (name: string, value: unknown): void => {
    if (value !== undefined) body.set(name, exactJson(value));
  };
  const texts = own.filter(({ text }) => text !== "");
  set("system", texts.length > 0 ? texts : undefined);
  set("messages", turns);
  set("tools", toolsOf(members));
  set("tool_choice", toolChoiceOf(members));
  set("output_config", formatOf(members.get("response_format")));
  const topK = members.get("top_k");
  if (topK !== undefined) body.set("top_k", topK);
  return body;
}

const mark = '{"type":"ephemeral"}';

/** Marks the ends of prefixes that repeat: system prompt or tools, and what precedes the turn. */
function markStable(body: Body): void {
  const [system, tools, messages] = ["system", "tools", "messages"].map((name) => body.get(name));
  if (system !== undefined) body.set("system", marked(system));
  else if (tools !== undefined) body.set("tools", marked(tools));
  const turns = rawItems(messages ?? "[]");
  const stable = turns.at(-2);
  const turn = rawMembers(stable ?? "{}");
  const content = turn.get("content");
  if (content === undefined) return;
  turn.set("content", marked(content));
  body.set("messages", `[${turns.with(-2, objectOf(turn)).join(",")}]`);
}

/** The API refuses marks on thinking and on empty texts. */
const unmarkable = new Set(["thinking", "redacted_thinking"]);

/** A list with the mark at its last element; a text as one block with it; else unchanged. */
function marked(json: string): string {
  if (json.startsWith('"')) return json === '""' ? json : `[{"type":"text","text":${json},"cache_control":${mark}}]`;
  const items = json.startsWith("[") ? rawItems(json) : [];
  const block: unknown = JSON.parse(items.at(-1) ?? "null");
  if (!isObject(block) || (typeof block["type"] === "string" && unmarkable.has(block["type"])) || block["text"] === "")
    return json;
  const last = rawMembers(items.at(-1) ?? "{}");
  last.set("cache_control", mark);
  return `[${items.with(-1, objectOf(last)).join(",")}]`;
}
