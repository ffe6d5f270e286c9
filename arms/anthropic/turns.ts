// Messages of a chat completion as turns of the Messages API. Arguments of calls keep their text.
import { rawItems, rawMembers, RawJson } from "../../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../../algorithms/text/json-shape.ts";
import { toolUseOf } from "../../algorithms/text/message-blocks.ts";
import { Unsendable } from "../openai/protocol.ts";

type Json = Record<string, unknown>;
interface Turn {
  role: "user" | "assistant";
  content: object[];
}

/**
 * system: texts of all system messages, which the format has before the turns. Neighbours of one
 * role are one turn: results of tools must follow their calls together. Throws Unsendable.
 */
export function translatedTurns(messages: string): { system: Json[]; turns: Turn[] } {
  const system: Json[] = [];
  const turns: Turn[] = [];
  for (const [index, text] of rawItems(messages).entries()) {
    const message = JSON.parse(text) as Json;
    const at = `messages[${index}]`;
    const { role, content, tool_call_id: id } = message;
    if (role === "system" || role === "developer") {
      system.push(...blocksOf(content, at));
      continue;
    }
    const isOwn = role === "assistant";
    const blocks =
      role === "tool"
        ? [{ type: "tool_result", tool_use_id: id, content: blocksOf(content, at) }]
        : isOwn
          ? [...thoughtsOf(text), ...blocksOf(content, at), ...callsOf(message, at)]
          : blocksOf(content, at);
    if (role === "function") throw new Unsendable("results of functions, only those of tools", at);
    if (blocks.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === (isOwn ? "assistant" : "user")) last.content.push(...blocks);
    else turns.push({ role: isOwn ? "assistant" : "user", content: blocks });
  }
  return { system, turns };
}

/** Empty texts are left out: the API refuses them. */
function blocksOf(content: unknown, at: string): Json[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return listOf(content)
    .map((part, index) => blockOf(isObject(part) ? part : {}, `${at}.content[${index}]`))
    .filter(({ type, text }) => type !== "text" || text !== "");
}

function blockOf(part: Json, at: string): Json {
  const { type, text, refusal, image_url: image, cache_control: hint } = part;
  const hinted = isObject(hint) ? { cache_control: hint } : {};
  if (type === "text" && typeof text === "string") return { type, text, ...hinted };
  if (type === "refusal" && typeof refusal === "string") return { type: "text", text: refusal };
  const url = isObject(image) ? image["url"] : image;
  if (type !== "image_url" || typeof url !== "string") throw new Unsendable("this content", at);
  const [, media, data] = /^data:([\w/+.-]+);base64,(.*)$/s.exec(url) ?? [];
  const source = data === undefined ? { type: "url", url } : { type: "base64", media_type: media, data };
  return { type: "image", source, ...hinted };
}

/** Thinking blocks with signatures are sent back unchanged. */
const thoughtsOf = (message: string): RawJson[] =>
  rawItems(rawMembers(message).get("thinking_blocks") ?? "[]").map((block) => new RawJson(block));

function callsOf({ tool_calls: calls, function_call: legacy }: Json, at: string): object[] {
  if (isObject(legacy)) throw new Unsendable("calls of functions, only those of tools", at);
  const refused = (index: number) => () =>
    new Unsendable("a call whose arguments are no JSON object", `${at}.tool_calls[${index}]`);
  return listOf(calls).map((call, index) => toolUseOf(call, refused(index)));
}
