// POST /v1/responses: translates a body of OpenAI's Responses API to that of a chat completion.
import { rawMembers, RawJson } from "../../../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../../../algorithms/text/json-shape.ts";
import { badRequest } from "../../errors.ts";
import { storedMark } from "../../previous-response.ts";
import { unservedMember, type ChatBody, type Served } from "../request.ts";
import { copied, listedIn, translatedRequest } from "../translated.ts";
import { toolChoiceOf, toolsOf, turnsOf, type Namespaces } from "./items.ts";

type Json = Record<string, unknown>;

/** Members that are copied unchanged. */
const same = [
  ...["model", "temperature", "top_p", "metadata", "user", "precedent", "stream"],
  ...["safety_identifier", "prompt_cache_key", "parallel_tool_calls", "service_tier"],
  ...["prompt_cache_options", "prompt_cache_retention"],
];
const read = ["input", "instructions", "max_output_tokens", "tools", "tool_choice", "text", "reasoning"].concat([
  "store",
  "previous_response_id",
]);
const known = new Set([...same, ...read]);

/** Values without effect: treated as absent. */
const neutral = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    include: (value: unknown) => listOf(value).every((one) => one === "reasoning.encrypted_content"),
    truncation: (value: unknown) => value === "disabled" || value === "auto",
    // What Codex says of itself.
    client_metadata: (value: unknown) => isObject(value),
    background: (value: unknown) => value === false,
    top_logprobs: (value: unknown) => value === 0,
    stream_options: (value: unknown) => typeof value === "object",
  }),
);

export interface ResponsesBody extends ChatBody {
  /** Members of the request body that the answer repeats. */
  echo: Json;
  namespaces: Namespaces;
}

export interface ResponsesOptions {
  /** The unparsed body. */
  text?: string | undefined;
  /** Messages up to the answer of previous_response_id. */
  previous?: readonly RawJson[];
}

/** Throws ApiError. */
export function responsesRequest(
  body: unknown,
  served: Served = new Set(),
  { text = JSON.stringify(body), previous = [] }: ResponsesOptions = {},
): ResponsesBody {
  if (!isObject(body)) throw badRequest("The body must be a JSON object.");
  const store = body["store"] ?? true;
  if (typeof store !== "boolean") throw badRequest("store must be true or false.", "store");
  for (const [name, value] of Object.entries(body))
    if (!known.has(name) && value !== null && neutral.get(name)?.(value) !== true) throw unservedMember(name);
  const members = rawMembers(text);
  const instructions = body["instructions"] ?? null;
  const first = { message: { role: "system", content: instructions }, path: "instructions" };
  const before = previous.map((message) => ({ message, path: "previous_response_id" }));
  const turns = [...(instructions === null ? [] : [first]), ...before, ...turnsOf(body["input"])];
  const namespaces: Namespaces = new Map();
  const tools = listedIn(body, members, "tools").flatMap((tool) => toolsOf(tool, namespaces));
  const chat = {
    ...copied(members, same),
    messages: turns.map(({ message }) => message),
    ...("max_output_tokens" in body && { max_completion_tokens: body["max_output_tokens"] }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && "tool_choice" in body && { tool_choice: toolChoiceOf(body["tool_choice"]) }),
    ...formatOf(body["text"], members.get("text")),
    ...(served.has("parameters") && effortOf(body["reasoning"])),
  };
  const request = translatedRequest({ chat, origins: turns.map(({ path }) => path), names }, served);
  const repeated = ["instructions", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens"];
  const more = ["temperature", "top_p", "metadata", "previous_response_id"];
  const echo = [...repeated, ...more].flatMap((name) => (name in body ? [[name, body[name]] as const] : []));
  const format = isObject(body["text"]) ? { text: { format: { type: "text" }, ...body["text"] } } : {};
  const mark = instructions === null ? "plain" : "instructions";
  const metadata = { ...request.request.metadata, ...(store && { [storedMark]: mark }) };
  return {
    ...request,
    request: { ...request.request, metadata },
    echo: { store, ...Object.fromEntries(echo), ...format },
    namespaces,
  };
}

const names = {
  ...{ messages: "input", max_tokens: "max_output_tokens" },
  ...{ max_completion_tokens: "max_output_tokens", response_format: "text.format" },
  ...{ reasoning_effort: "reasoning.effort", verbosity: "text.verbosity" },
};

function formatOf(value: unknown, text = "{}"): Json {
  const { format = null, verbosity = null, ...others } = isObject(value) ? value : {};
  const [other] = Object.keys(others);
  if (other !== undefined) throw unservedMember(`text.${other}`);
  const long = verbosity === null || verbosity === "medium" ? {} : { verbosity };
  if (!isObject(format) || format["type"] === "text") return long;
  const { type, schema: _schema, ...named } = format;
  if (type !== "json_schema") return { ...long, response_format: format };
  const schema = rawMembers(rawMembers(text).get("format") ?? "{}").get("schema") ?? "null";
  return { ...long, response_format: { type, json_schema: { ...named, schema: new RawJson(schema) } } };
}

/** Wishes: effort where an arm takes it; summaries of thoughts nowhere. */
function effortOf(reasoning: unknown): Json {
  const effort = isObject(reasoning) ? (reasoning["effort"] ?? null) : null;
  return effort === null ? {} : { reasoning_effort: effort };
}
