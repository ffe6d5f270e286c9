// Translates a body of Anthropic's Messages API to that of a chat completion, which api/request.ts
// reads. Both formats thus have the same request, examples, limits and record.
import { rawMembers, RawJson } from "../../../algorithms/text/exact-json.ts";
import { isObject } from "../../../algorithms/text/json-shape.ts";
import { ApiError, badRequest } from "../../errors.ts";
import { unservedMember, type ChatBody, type Served } from "../request.ts";
import { servedNatively } from "./native.ts";
import { copied, listedIn, translatedRequest, type Written } from "../translated.ts";
import { chatTurns, systemContent, toolChoiceOf, toolOf } from "./blocks.ts";

type Json = Record<string, unknown>;

/** Members that are copied unchanged. */
const same = ["model", "max_tokens", "temperature", "top_p", "top_k", "stream", "precedent"];
/** Members that are translated below. */
const read = ["messages", "system", "stop_sequences", "tools", "tool_choice", "metadata", "output_config"];
/**
 * Wishes that change no answer's meaning: thoughts, caches and why they missed, and forgetting old
 * results of tools. Arms of OpenAI's format have no member for them.
 */
const wishes = ["thinking", "cache_control", "context_management", "speed", "diagnostics"];
const known = new Set([...same, ...read, ...wishes]);

/** Values without effect: treated as absent. */
const isNeutral = (name: string, value: unknown): boolean =>
  value === null ||
  (name === "service_tier" && (value === "auto" || value === "standard_only")) ||
  // Where it is computed: other places may be forbidden by law.
  (name === "inference_geo" && value === "global") ||
  (Array.isArray(value) && value.length === 0);

export interface MessagesOptions {
  /** The unparsed body. */
  text?: string | undefined;
  /** The header anthropic-beta. */
  betas?: string | undefined;
}

/** Throws ApiError. */
export function messagesRequest(body: unknown, served: Served, options: MessagesOptions = {}): ChatBody {
  const { text = JSON.stringify(body), betas } = options;
  if (!isObject(body)) throw badRequest("The body must be a JSON object.");
  if ((body["thread"] ?? null) !== null) throw noThreads();
  const translate = (): ChatBody => translatedBody(body, served, text);
  return served.has("anthropic") ? servedNatively({ body, text, betas, served }, translate) : translate();
}

/** Tool runners of Anthropic's clients ask for a thread; told so, they send whole conversations. */
const noThreads = (): ApiError =>
  new ApiError({
    ...{ status: 400, code: "unsupported_parameter", param: "thread" },
    message: "The parameter thread is not served: a request holds its whole conversation. Leave it out.",
    details: { error_code: "thread_unsupported_request" },
  });

function translatedBody(body: Json, served: Served, text: string): ChatBody {
  for (const [name, value] of Object.entries(body))
    if (!known.has(name) && !isNeutral(name, value)) throw unservedMember(name);
  return translatedRequest({ ...chatOf(body, rawMembers(text)), names }, served);
}

const names = { stop: "stop_sequences", user: "metadata.user_id", response_format: "output_config.format" };

/** origins: the path of each message in the client's body. */
function chatOf(body: Json, written: Written): { chat: Json; origins: string[] } {
  const system = body["system"] ?? null;
  const user = isObject(body["metadata"]) ? body["metadata"]["user_id"] : null;
  const tools = listedIn(body, written, "tools").map(toolOf);
  const choice = body["tool_choice"] ?? null;
  const stops = body["stop_sequences"] ?? null;
  const first = {
    message: { role: "system", content: systemContent({ value: system ?? "", path: "system" }) },
    path: "system",
  };
  const turns = listedIn(body, written, "messages").flatMap((one) =>
    chatTurns(one).map((message) => ({ message, path: one.path })),
  );
  const all = [...(system === null || first.message.content.length === 0 ? [] : [first]), ...turns];
  const chat = {
    ...copied(written, same),
    messages: all.map(({ message }) => message),
    ...(stops !== null && { stop: stops }),
    ...(typeof user === "string" && { user }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && choice !== null && toolChoiceOf(choice)),
    ...formatOf(body["output_config"], written.get("output_config")),
  };
  return { chat, origins: all.map(({ path }) => path) };
}

/** The answer's schema; effort is dropped as an optional hint. */
function formatOf(config: unknown, text = "{}"): Json {
  const format = isObject(config) ? (config["format"] ?? null) : null;
  if (format === null) return {};
  const schema = rawMembers(rawMembers(text).get("format") ?? "{}").get("schema");
  if (!isObject(format) || format["type"] !== "json_schema" || schema === undefined)
    throw badRequest("output_config.format must have type json_schema and a schema.", "output_config.format");
  const named = { name: "answer", strict: true, schema: new RawJson(schema) };
  return { response_format: { type: "json_schema", json_schema: named } };
}
