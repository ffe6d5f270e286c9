// Converts Anthropic's messages to OpenAI's chat messages. Tool inputs keep their exact text.
import { rawItems, rawMembers } from "../../../algorithms/text/exact-json.ts";
import { isObject } from "../../../algorithms/text/json-shape.ts";
import { badRequest, type ApiError } from "../../errors.ts";
import { contentOf, functionTool, namedFunction, type At } from "../translated.ts";

type Json = Record<string, unknown>;
type Part = ({ type: "text"; text: string } | { type: "image_url"; image_url: { url: string } }) & Hint;
/** Marks the end of a prefix that an engine may cache. */
type Hint = { cache_control?: Json };

/** Converts a system prompt: a text, or blocks of text. Throws ApiError. */
export function systemContent({ value, path }: Omit<At, "text">): string | readonly Part[] {
  if (typeof value === "string") return value;
  return contentOf(blocksOf({ value, path }).map(({ block, path: at }) => textPart(block, at)));
}

/** Converts a turn. Tool results precede the user's other content. Throws ApiError. */
export function chatTurns({ value, text, path }: At): Json[] {
  if (!isObject(value)) throw badRequest(`${path} must be an object.`, path);
  const { role, content } = value;
  if (role !== "user" && role !== "assistant" && role !== "system")
    throw badRequest(`${path}.role must be "user", "assistant" or "system".`, path);
  if (typeof content === "string") return [{ role, content }];
  if (role === "system") return [{ role, content: systemContent({ value: content, path: `${path}.content` }) }];
  const blocks = blocksOf({ value: content, path: `${path}.content` });
  const texts = rawItems(rawMembers(text).get("content") ?? "[]");
  const all = blocks.map((one, index) => ({ ...one, text: texts[index] ?? "{}" }));
  return role === "user" ? userTurns(all) : assistantTurn(all);
}

type Block = { block: Json; text: string; path: string };

function userTurns(blocks: readonly Block[]): Json[] {
  const results = blocks.filter(({ block }) => block["type"] === "tool_result").map(resultTurn);
  const rest = blocks.filter(({ block }) => block["type"] !== "tool_result");
  const parts = rest.map(({ block, path }) => partOf(block, path));
  return [
    ...results,
    ...(parts.length > 0 || results.length === 0 ? [{ role: "user", content: contentOf(parts) }] : []),
  ];
}

function resultTurn({ block, path }: Block): Json {
  const { tool_use_id: id } = block;
  const content = block["content"] ?? "";
  if (typeof id !== "string") throw badRequest(`${path}.tool_use_id must be a string.`, path);
  const parts =
    typeof content === "string"
      ? [{ type: "text" as const, text: content, ...hintOf(block) }]
      : blocksOf({ value: content, path: `${path}.content` }).map((one) => partOf(one.block, one.path));
  return { role: "tool", tool_call_id: id, content: contentOf(parts) };
}

/** Thoughts are not sent on: no endpoint of OpenAI's format takes them back. */
function assistantTurn(blocks: readonly Block[]): Json[] {
  const said = blocks.filter(({ block: { type } }) => type !== "thinking" && type !== "redacted_thinking");
  const calls = said.filter(({ block }) => block["type"] === "tool_use").map(callOf);
  const texts = said
    .filter(({ block }) => block["type"] !== "tool_use")
    .map(({ block, path }) => textPart(block, path));
  if (texts.length + calls.length === 0) return [];
  const content = texts.length === 0 ? null : contentOf(texts);
  return [{ role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) }];
}

function callOf({ block, text, path }: Block): Json {
  const { id, name, input } = block;
  if (typeof id !== "string" || typeof name !== "string" || !isObject(input))
    throw badRequest(`${path}: a tool_use block has id, name and input.`, path);
  const called = { name, arguments: rawMembers(text).get("input") ?? "{}" };
  return { id, type: "function", function: called, ...hintOf(block) };
}

function partOf(block: Json, path: string): Part {
  if (block["type"] !== "image") return textPart(block, path);
  const source = isObject(block["source"]) ? block["source"] : {};
  const { type, url, media_type: media, data } = source;
  if (type === "url" && typeof url === "string") return { type: "image_url", image_url: { url }, ...hintOf(block) };
  if (type === "base64" && typeof media === "string" && typeof data === "string")
    return { type: "image_url", image_url: { url: `data:${media};base64,${data}` }, ...hintOf(block) };
  throw unserved(`${path}.source`);
}

type TextPart = Extract<Part, { type: "text" }>;

const textsOf = (...values: unknown[]): string[] => values.filter((one) => typeof one === "string");

const hintOf = ({ cache_control: hint }: Json): Hint => (isObject(hint) ? { cache_control: hint } : {});

function textPart(block: Json, path: string): TextPart {
  const { type, text, source, title, context } = block;
  if (type === "text" && typeof text === "string") return { type, text, ...hintOf(block) };
  if (type === "document" && isObject(source) && source["type"] === "text" && typeof source["data"] === "string")
    return { type: "text", text: textsOf(title, context, source["data"]).join("\n"), ...hintOf(block) };
  throw unserved(path);
}

function blocksOf({ value, path }: Omit<At, "text">): { block: Json; path: string }[] {
  if (!Array.isArray(value)) throw badRequest(`${path} must be a string or an array of blocks.`, path);
  return (value as unknown[]).map((block, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(block)) throw badRequest(`${at} must be an object.`, at);
    return { block, path: at };
  });
}

const unserved = (path: string): ApiError =>
  badRequest(
    `${path} is not served: blocks are text, images, tool_use, tool_result and documents of text.`,
    path,
    "unsupported_value",
  );

/** Converts a tool to OpenAI's format. Throws ApiError. */
export function toolOf({ value, text, path }: At): object {
  const { type, name } = isObject(value) ? value : {};
  if ((type ?? "custom") !== "custom") throw unservedTool(path);
  if (typeof name !== "string") throw badRequest(`${path}.name must be a string.`, path);
  const hint = isObject(value) ? hintOf(value) : {};
  return { ...functionTool(name, value, rawMembers(text).get("input_schema")), ...hint };
}

const unservedTool = (path: string): ApiError =>
  badRequest(
    `${path} is a tool that Anthropic's servers run: no arm here does. Leave it out.`,
    path,
    "unsupported_value",
  );

export function toolChoiceOf(choice: unknown): Json {
  const { type, name, disable_parallel_tool_use: alone } = isObject(choice) ? choice : {};
  const parallel = alone === true ? { parallel_tool_calls: false } : {};
  if (type === "auto" || type === "none") return { tool_choice: type, ...parallel };
  if (type === "any") return { tool_choice: "required", ...parallel };
  if (type === "tool" && typeof name === "string") return { tool_choice: namedFunction(name), ...parallel };
  throw badRequest('tool_choice.type must be "auto", "any", "tool" (with a name) or "none".', "tool_choice");
}
