// Converts input items of OpenAI's Responses API to chat messages. Call arguments keep their text.
import { rawItems, rawMembers } from "../../../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../../../algorithms/text/json-shape.ts";
import { badRequest, type ApiError } from "../../errors.ts";
import { contentOf, functionTool, namedFunction, type At } from "../translated.ts";

type Json = Record<string, unknown>;

export interface Turn {
  message: Json & { tool_calls?: Json[] };
  path: string;
}

/** Converts a text, or items: messages, tool calls and their results. Throws ApiError. */
export function turnsOf(input: unknown): Turn[] {
  if (typeof input === "string") return [{ message: { role: "user", content: input }, path: "input" }];
  if (!Array.isArray(input) || input.length === 0)
    throw badRequest("input must be a string or a list of items.", "input");
  const turns: Turn[] = [];
  for (const [index, item] of (input as unknown[]).entries()) {
    const path = `input[${index}]`;
    if (!isObject(item)) throw badRequest(`${path} must be an object.`, path);
    const call = callOf(item, path);
    const last = turns.at(-1)?.message;
    // The calls of one answer are one message, with its text, in whatever order they come.
    if (call !== null && last?.["role"] === "assistant") (last.tool_calls ??= []).push(call);
    else if (call !== null) turns.push({ message: { role: "assistant", content: null, tool_calls: [call] }, path });
    else {
      const message = messageOf(item, path);
      if (message?.["role"] === "assistant" && last?.tool_calls !== undefined && last["content"] === null)
        last["content"] = message["content"];
      else if (message !== null && !joinSystem(last, message)) turns.push({ message, path });
    }
  }
  return turns;
}

function callOf(item: Json, path: string): Json | null {
  const { type, call_id: id, arguments: given, input } = item;
  const name = flatName(item["namespace"], item["name"]);
  if (type !== "function_call" && type !== "custom_tool_call") return null;
  const [isCustom, text] = type === "custom_tool_call" ? [true, input] : [false, given];
  if (typeof id !== "string" || typeof name !== "string" || typeof text !== "string")
    throw badRequest(`${path}: a ${type} has call_id, name and ${isCustom ? "input" : "arguments"}.`, path);
  return isCustom
    ? { id, type: "custom", custom: { name, input: text } }
    : { id, type: "function", function: { name, arguments: text } };
}

/** Templates take one system text, at the beginning. False: they are no two of them. */
function joinSystem(last: Json | undefined, { role, content }: Json): boolean {
  if (role !== "system" || last?.["role"] !== "system") return false;
  const before = last["content"];
  if (typeof content !== "string" || typeof before !== "string") return false;
  last["content"] = `${before}\n\n${content}`;
  return true;
}

/** Null for reasoning items: chat completions have no member for them. */
function messageOf(item: Json, path: string): Json | null {
  const { type = "message", role, content, output, call_id: id } = item;
  if (type === "reasoning") return null;
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    if (typeof id !== "string") throw badRequest(`${path}.call_id must be a string.`, path);
    return { role: "tool", tool_call_id: id, content: partsOf(output, `${path}.output`) };
  }
  if (type === "item_reference") throw heldElsewhere(path);
  if (type !== "message") throw unserved(path, type);
  if (typeof role !== "string" || !["system", "developer", "user", "assistant"].includes(role))
    throw badRequest(`${path}.role must be "system", "developer", "user" or "assistant".`, path);
  // Few engines beside OpenAI's know developer: templates leave it out without a word.
  return { role: role === "developer" ? "system" : role, content: partsOf(content, `${path}.content`) };
}

function partsOf(content: unknown, path: string): string | readonly Json[] {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw badRequest(`${path} must be a string or a list of parts.`, path);
  return contentOf((content as unknown[]).map((part, index) => partOf(part, `${path}[${index}]`)));
}

/** Clients send parts of earlier answers as output_text. */
function partOf(part: unknown, path: string): Json & { type: string; text?: string } {
  const { type, text, refusal, image_url: url, detail, prompt_cache_breakpoint: hint } = isObject(part) ? part : {};
  const hinted = isObject(hint) ? { prompt_cache_breakpoint: hint } : {};
  if ((type === "input_text" || type === "output_text") && typeof text === "string")
    return { type: "text", text, ...hinted };
  if (type === "refusal" && typeof refusal === "string") return { type: "text", text: refusal };
  if (type === "input_image" && typeof url === "string")
    return { type: "image_url", image_url: { url, ...(typeof detail === "string" && { detail }) }, ...hinted };
  throw unserved(path, type);
}

/** Vercel's AI SDK refers to items of answers unless it is told that none is stored. */
const heldElsewhere = (path: string): ApiError =>
  badRequest(
    `${path} refers to an item by its id: send the item itself (with store: false clients do), or previous_response_id.`,
    path,
    "unsupported_value",
  );

const unserved = (path: string, type: unknown): ApiError =>
  badRequest(
    `${path} of type ${typeof type === "string" ? type.slice(0, 40) : "none"} is not served: messages, calls of functions and their results are.`,
    path,
    "unsupported_value",
  );

/** What chat completions have no namespaces for: names of functions in them, and what they mean. */
export type Namespaces = Map<string, { namespace: string; name: string }>;

const flatName = (namespace: unknown, name: unknown): unknown =>
  typeof namespace !== "string" || typeof name !== "string"
    ? name
    : `${namespace}${namespace.endsWith("__") ? "" : "__"}${name}`;

/** Converts a tool, or all of a namespace, whose functions are noted by name. Throws ApiError. */
export function toolsOf({ value, text, path }: At, namespaces: Namespaces): object[] {
  const { type, name: namespace, tools } = isObject(value) ? value : {};
  if (type !== "namespace" || typeof namespace !== "string") return [toolOf({ value, text, path })];
  const texts = rawItems(rawMembers(text).get("tools") ?? "[]");
  return listOf(tools).map((tool, index) => {
    const at = `${path}.tools[${index}]`;
    const name = isObject(tool) ? tool["name"] : undefined;
    const flat = flatName(namespace, name);
    if (!isObject(tool) || typeof name !== "string" || typeof flat !== "string" || namespaces.has(flat))
      throw badRequest(`${at} must have a name of its own.`, at);
    namespaces.set(flat, { namespace, name });
    return toolOf({ value: { ...tool, name: flat }, text: texts[index] ?? "{}", path: at });
  });
}

/** Converts a function or a custom tool; tools of OpenAI's servers are refused. */
function toolOf({ value, text, path }: At): object {
  const { type, name, description, format } = isObject(value) ? value : {};
  if (!isClientTool(type) || typeof name !== "string") throw unservedTool(type, path);
  if (type === "function") return functionTool(name, value, rawMembers(text).get("parameters"));
  const { type: kind, ...grammar } = isObject(format) ? format : {};
  const written = kind === "grammar" ? { type: kind, grammar } : format;
  return { type, custom: { name, description, format: written } };
}

const unservedTool = (type: unknown, path: string): ApiError => {
  const of = typeof type === "string" ? `of type ${type.slice(0, 40)}` : "no object with a type";
  return badRequest(
    `${path} is ${of}, and no function or custom tool with a name: no arm here runs other tools. Leave it out.`,
    path,
    "unsupported_value",
  );
};

const isClientTool = (type: unknown): type is "function" | "custom" => type === "function" || type === "custom";
const named = (type: "function" | "custom", name: unknown): object =>
  type === "function" ? namedFunction(name) : { type, custom: { name } };

/** Throws ApiError. */
export function toolChoiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type, mode, tools } = choice;
  if (isClientTool(type)) return named(type, choice["name"]);
  const allowed = listOf(tools).flatMap((tool) =>
    isObject(tool) && isClientTool(tool["type"]) ? [named(tool["type"], tool["name"])] : [],
  );
  if (type === "allowed_tools" && allowed.length === listOf(tools).length)
    return { type, allowed_tools: { mode, tools: allowed } };
  throw badRequest(
    "tool_choice names a tool that no arm here runs: only functions are.",
    "tool_choice",
    "unsupported_value",
  );
}
