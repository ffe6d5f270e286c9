// Conversations as others store them, as OpenAI's messages: OpenAI's chat and Responses, Anthropic,
// Gemini, LangChain, Vercel AI, TensorZero, OpenTelemetry. Text, calls of tools and their results
// are kept; images and the like are not. Pure; null where nothing can be read.
import { listOf } from "../../algorithms/text/json-shape.ts";
import { unstreamed } from "./stream.ts";
import { firstName, isNone, objectOf, parsed, type Json } from "./foreign.ts";

export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}
export interface Turn {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}
export interface ForeignAnswer {
  text: string;
  calls: ToolCall[];
  /** As the other system says it; null: it does not say. */
  finishReason: string | null;
}

const roles: Readonly<Record<string, Turn["role"]>> = {
  ...{ system: "system", developer: "system", user: "user", human: "user", tool: "tool", function: "tool" },
  ...{ assistant: "assistant", ai: "assistant", model: "assistant", chatbot: "assistant" },
};

/** Text itself, or JSON of what is none. */
const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""));

/** A call of a tool, by its members in any of the dialects. */
function callOf(value: unknown): ToolCall | null {
  const call = objectOf(value);
  const inner = objectOf(call?.["function"]) ?? objectOf(call?.["functionCall"]) ?? call;
  const name = firstName(inner?.["name"], inner?.["raw_name"], inner?.["toolName"]);
  if (call === undefined || inner === undefined || name === null) return null;
  const given = [inner["raw_arguments"], inner["arguments"], inner["input"], inner["args"]].find((one) => !isNone(one));
  const id = firstName(call["call_id"], call["id"], call["toolCallId"]) ?? "";
  return { id, type: "function", function: { name, arguments: given === undefined ? "{}" : written(given) } };
}
const callsOf = (values: unknown): ToolCall[] =>
  listOf(values).flatMap((value) => {
    const call = callOf(value);
    return call === null ? [] : [call];
  });

const callTypes = new Set(["tool_call", "tool_use", "tool-call", "function_call"]);
const resultTypes = new Set(["tool_result", "tool-result", "function_call_output", "tool_call_response"]);
/** Thoughts are not what was answered. */
const textTypes = new Set([undefined, "text", "input_text", "output_text", "raw_text", "refusal"]);

interface Parts {
  text: string | null;
  calls: ToolCall[];
  results: Turn[];
}

function resultOf(part: Json): Turn {
  const response = objectOf(part["functionResponse"]);
  const of = response ?? part;
  const given = ["result", "output", "content", "response"].map((name) => of[name]).find((one) => !isNone(one));
  const read = partsOf(given).text ?? written(given ?? "");
  const id = firstName(part["tool_use_id"], part["call_id"], part["toolCallId"], part["id"], response?.["name"]);
  return { role: "tool", content: read, ...(id === null ? {} : { tool_call_id: id }) };
}

/** A message's content: text parts joined, calls, results. */
function partsOf(content: unknown): Parts {
  const found: Parts = { text: null, calls: [], results: [] };
  if (typeof content === "string") return { ...found, text: content };
  for (const one of Array.isArray(content) ? (content as unknown[]) : [content]) {
    const part = typeof one === "string" ? { text: one } : objectOf(one);
    if (part === undefined) continue;
    const type = typeof part["type"] === "string" ? part["type"] : undefined;
    const call = callTypes.has(type ?? "") || "functionCall" in part ? callOf(part) : null;
    if (call !== null) found.calls.push(call);
    else if (resultTypes.has(type ?? "") || "functionResponse" in part) found.results.push(resultOf(part));
    else if (type === "template") found.text = (found.text ?? "") + written(part["arguments"]);
    else if (textTypes.has(type) && part["thought"] !== true) {
      const given = [part["text"], part["refusal"], part["value"], part["arguments"], part["content"]];
      const text = given.find((one) => typeof one === "string") ?? given.find((one) => objectOf(one) !== undefined);
      if (text !== undefined) found.text = (found.text ?? "") + written(text);
    }
  }
  return found;
}

/** LangChain writes objects with their constructors. */
const unwrapped = (message: Json | undefined): Json | undefined => objectOf(message?.["kwargs"]) ?? message;
/** Calls beside the content, where each dialect has them. */
const besides = (message: Json): ToolCall[] =>
  callsOf(message["tool_calls"] ?? objectOf(message["additional_kwargs"])?.["tool_calls"]).concat(
    callsOf([message["function_call"]]),
  );

/** A message as turns: results of tools within it come before its text. */
function turnsOf(value: unknown): Turn[] {
  const message = unwrapped(objectOf(value));
  if (message === undefined) return typeof value === "string" ? [{ role: "user", content: value }] : [];
  const type = typeof message["type"] === "string" ? message["type"] : "";
  // Items of the Responses API.
  if (resultTypes.has(type)) return [resultOf(message)];
  if (type === "function_call") return [withCalls({ role: "assistant", content: "" }, callsOf([message]))];
  const role = roles[(firstName(message["role"]) ?? type).toLowerCase()];
  if (role === undefined) return [];
  const { text, calls, results } = partsOf(message["content"] ?? message["parts"]);
  const all = [...calls, ...besides(message)];
  if (role === "tool" && results.length === 0) {
    const id = firstName(message["tool_call_id"]);
    const content = text ?? written(message["content"]);
    return [{ role, content, ...(id === null ? {} : { tool_call_id: id }) }];
  }
  if (text === null && all.length === 0) return results;
  return [...results, withCalls({ role, content: text ?? "" }, role === "assistant" ? all : [])];
}
const withCalls = (turn: Turn, calls: ToolCall[]): Turn => (calls.length === 0 ? turn : { ...turn, tool_calls: calls });

/** Conversation with a user's text; null: none can be read. */
export function conversationOf(value: unknown): Turn[] | null {
  const read = parsed(value);
  const body = objectOf(read);
  const system = body?.["system"] ?? body?.["instructions"] ?? body?.["systemInstruction"];
  const list = body === undefined ? read : listIn(body);
  const messages = Array.isArray(list) ? (list as unknown[]) : [list];
  const flat = Array.isArray(messages[0]) ? (messages[0] as unknown[]) : messages;
  const before = isNone(system) ? null : systemText(system);
  const turns = [...(before === null ? [] : [{ role: "system" as const, content: before }]), ...flat.flatMap(turnsOf)];
  return turns.some(({ role, content }) => role === "user" && content.trim() !== "") ? turns : null;
}

const systemText = (value: unknown): string | null =>
  partsOf(objectOf(value)?.["parts"] ?? value).text ?? written(value);

function listIn(body: Json): unknown {
  const found = ["messages", "contents", "input", "prompt", "question", "query"].find((name) => !isNone(body[name]));
  if (found === undefined) return "role" in body ? body : partsOf(body["content"] ?? body).text;
  const within = parsed(body[found]);
  return found === "input" && objectOf(within) !== undefined ? (conversationOf(within) ?? within) : within;
}

/** What was answered, in any of the dialects; null: nothing that is an answer. */
export function answerOf(value: unknown): ForeignAnswer | null {
  const read = unstreamed(parsed(value));
  if (typeof read === "string") return { text: read, calls: [], finishReason: null };
  const list = listOf(read);
  // A conversation's last message, or the blocks of one.
  const messages = list.filter((one) => objectOf(one)?.["role"] !== undefined || objectOf(one)?.["type"] === "ai");
  if (messages.length > 0) return answerOf(messages.at(-1));
  if (list.length > 0) return messageAnswer({ content: read }) ?? asJson(value);
  const object = unwrapped(objectOf(read));
  if (object === undefined) return isNone(read) || Array.isArray(read) ? null : asJson(read);
  const [choice] = [...listOf(object["choices"]), ...listOf(object["candidates"])].map(objectOf);
  if (choice !== undefined) {
    const message = objectOf(choice["message"]) ?? objectOf(choice["delta"]) ?? objectOf(choice["content"]) ?? choice;
    const reason = firstName(choice["finish_reason"], choice["finishReason"]);
    const isForeign = isNone(reason) && !choiceMembers.some((name) => name in choice);
    return messageAnswer(message, reason) ?? (isForeign ? asJson(value) : null);
  }
  const [generation] = listOf(object["generations"]).flat().map(objectOf);
  if (generation !== undefined) return answerOf(generation["message"] ?? generation["text"]);
  const items = listOf(object["output"]);
  if (items.some((item) => objectOf(item)?.["type"] !== undefined)) return itemsAnswer(items, object);
  // TensorZero's answer of a function that gives JSON.
  if ("raw" in object && "parsed" in object)
    return isNone(object["raw"]) ? answerOf(object["parsed"]) : answerOf({ text: object["raw"] });
  // Other members beside a text are an answer in a format of its own.
  const isMessage = Object.keys(object).length === 1 || messageMembers.some((name) => name in object);
  const reason = firstName(object["stop_reason"], object["finish_reason"]);
  return (isMessage ? messageAnswer(object, reason) : null) ?? structured(object, value);
}
const choiceMembers = ["message", "delta", "content", "text", "finish_reason", "finishReason"];
const messageMembers =
  "role type stop_reason finish_reason tool_calls function_call additional_kwargs parts id model usage".split(" ");

/** As the Responses API writes it. */
function itemsAnswer(items: readonly unknown[], body: Json): ForeignAnswer | null {
  const text = items.map((item) =>
    objectOf(item)?.["type"] === "message" ? partsOf(objectOf(item)?.["content"]).text : null,
  );
  const calls = callsOf(items.filter((item) => objectOf(item)?.["type"] === "function_call"));
  const found = text.filter((one) => one !== null);
  if (found.length + calls.length === 0) return null;
  const cut = firstName(objectOf(body["incomplete_details"])?.["reason"]);
  return { text: found.join(""), calls, finishReason: cut };
}

function messageAnswer(message: Json, finishReason: string | null = null): ForeignAnswer | null {
  const given = message["content"] ?? message["parts"] ?? message["text"] ?? message["completion"];
  const { text, calls } = partsOf(given);
  const all = [...calls, ...besides(message)];
  return text === null && all.length === 0 ? null : { text: text ?? "", calls: all, finishReason };
}

/** An answer in a format of its own is the JSON that it is; an empty or failed one is none. */
const structured = (object: Json, value: unknown): ForeignAnswer | null =>
  Object.keys(object).length === 0 ||
  "role" in object ||
  "error" in object ||
  ["choices", "output"].some((name) => Array.isArray(object[name]) && listOf(object[name]).length === 0)
    ? null
    : asJson(value);
const asJson = (value: unknown): ForeignAnswer => ({ text: written(value), calls: [], finishReason: null });
