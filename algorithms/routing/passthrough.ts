// Members of a chat completion that a request passes to an endpoint unchanged, as one JSON object,
// and the capabilities that an arm must declare to receive them. Pure; linear in the text.
import { isObject } from "../text/json-shape.ts";
import { nativeMember } from "../text/message-blocks.ts";
import { refusedImage, refusedMember, refusedNatively } from "./refused-members.ts";

/** common: parameters of both formats. anthropic: members of Anthropic's format alone. */
export const capabilities = ["tools", "vision", "parameters", "common", "anthropic"] as const;
export type Capability = (typeof capabilities)[number];

/** Whether an arm with the declared capabilities can take the required one. */
export const covers = (declared: readonly string[], required: string): boolean =>
  declared.includes(required) || (required === "common" && declared.includes("parameters"));

export type Members = Readonly<Record<string, unknown>>;

/** Members that a request has fields of its own for, or that no answer of ours could follow. */
const reserved: ReadonlySet<string> = new Set([
  ...["model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "user", "metadata"],
  ...["stream", "stream_options", "n", "modalities", "audio", "store", "precedent"],
  ...["prompt_cache_key", "cache_salt", nativeMember],
  // Who asks is the key's alone.
  "tenant",
]);
/** Tiers of OpenAI and Groq that cost no more than the arm's prices. */
const tiers: ReadonlySet<unknown> = new Set(["auto", "default", "flex", "scale", "on_demand"]);

const ofTools: ReadonlySet<string> = new Set([
  ...["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"],
]);

export const isReserved = (name: string, value: unknown): boolean =>
  reserved.has(name) || (name === "service_tier" && value !== null && !tiers.has(value));
export function requiredByMember(name: string, value: unknown): Capability {
  if (ofTools.has(name)) return "tools";
  const isSchema = name === "response_format" && isObject(value) && value["type"] === "json_schema";
  return isSchema || name === "top_k" ? "common" : "parameters";
}

/** A part of a message beyond role and text; capability null: no arm can get it. */
export interface Beyond {
  path: string;
  requires: Capability | null;
  /** It changes no answer: which of the prompt the endpoint shall cache. */
  isHint?: true;
  /** Why no arm can get it. */
  why?: string;
}

const roles = new Set(["system", "developer", "user", "assistant"]);
/** Fields of answers that clients send back as they got them. */
const ignored = new Set(["role", "content", "annotations"]);
const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

export function beyondText(message: Members): Beyond[] {
  const { role, content } = message;
  const found: Beyond[] = [];
  if (role === "tool" || role === "function") found.push({ path: "role", requires: "tools" });
  else if (typeof role !== "string" || !roles.has(role)) found.push({ path: "role", requires: null });
  for (const [name, value] of Object.entries(message)) {
    if (ignored.has(name) || isNothing(value)) continue;
    const isCall = name === "tool_calls" || name === "tool_call_id" || name === "function_call";
    const isThought = name === "thinking_blocks" || name === "reasoning_content";
    found.push({ path: name, requires: isCall ? "tools" : isThought ? "common" : "parameters" });
  }
  if (Array.isArray(content))
    for (const [at, part] of (content as unknown[]).entries()) {
      const path = `content[${at}]`;
      const type = isObject(part) ? part["type"] : undefined;
      const refused = isObject(part) && type === "image_url" ? refusedImage(part) : null;
      if (refused !== null) found.push({ path: `${path}.${refused.path}`, requires: null, why: refused.why });
      else if (type === "image_url") found.push({ path, requires: "vision" });
      else if (type === "refusal") found.push({ path, requires: "parameters" });
      else if (type === "text" && hasHint(part)) found.push({ path, requires: "parameters", isHint: true });
      else if (type !== "text" || !isText(part)) found.push({ path, requires: null });
    }
  else if (content !== null && content !== undefined && typeof content !== "string")
    found.push({ path: "content", requires: null });
  return found;
}

/** A text part that says nothing else: nothing of it is ours to drop. */
const isText = (part: unknown): boolean =>
  isObject(part) &&
  typeof part["text"] === "string" &&
  Object.entries(part).every(([name, value]) => name === "type" || name === "text" || isNothing(value));
/** Where a prefix to be cached ends, in Anthropic's and in OpenAI's words. */
export const hintNames = ["cache_control", "prompt_cache_breakpoint"] as const;
/** A text part with such hints alone. */
const hasHint = (part: unknown): boolean => {
  if (!isObject(part)) return false;
  const { cache_control: one, prompt_cache_breakpoint: other, ...rest } = part;
  const hints = [one, other].filter((hint) => !isNothing(hint));
  return hints.length > 0 && hints.every(isObject) && isText(rest);
};

export type Passthrough = { members: Members; requires: Capability[] } | { problem: string };

/** Reads the JSON of a request; its bounds are the caller's. */
export function readPassthrough(json: string): Passthrough {
  let members: unknown;
  try {
    members = JSON.parse(json);
  } catch {
    return { problem: "it is no JSON" };
  }
  if (!isObject(members)) return { problem: "it is no JSON object" };
  const requires = new Set<Capability>();
  for (const [name, value] of Object.entries(members)) {
    if (name === nativeMember) {
      if (!isObject(value) || !Array.isArray(value["messages"])) return { problem: `${name} is no body with messages` };
      const refused = refusedNatively(value);
      if (refused !== null) return { problem: `${name}.${refused.path} is not served: ${refused.why}` };
      continue;
    }
    const refused = refusedMember(name, value);
    if (refused !== null) return { problem: `${refused.path} is not served: ${refused.why}` };
    if (isReserved(name, value)) return { problem: `${name} is a field of the request, or not served` };
    if (name !== "messages") requires.add(requiredByMember(name, value));
  }
  const { messages } = members;
  if (messages !== undefined) {
    if (!Array.isArray(messages) || !messages.every(isObject)) return { problem: "messages is no array of objects" };
    for (const [index, message] of messages.entries())
      for (const { path, requires: needed, isHint } of beyondText(message)) {
        if (isHint === true) continue;
        if (needed === null) return { problem: `messages[${index}].${path} is not served` };
        requires.add(needed);
      }
  }
  // Unknown members need an arm that declares "parameters".
  if (requires.size === 0 && !(nativeMember in members)) requires.add("parameters");
  return { members, requires: capabilities.filter((one) => requires.has(one)) };
}
