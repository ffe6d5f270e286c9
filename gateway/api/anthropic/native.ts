// A body of Anthropic's API for arms of the same format: what a chat completion has no member for
// goes to them as it is written. What can be translated goes along, for arms of the other format.
import type { Capability } from "../../../algorithms/routing/passthrough.ts";
import { refusedNatively } from "../../../algorithms/routing/refused-members.ts";
import { objectOf, rawMembers } from "../../../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../../../algorithms/text/json-shape.ts";
import { nativeMember } from "../../../algorithms/text/message-blocks.ts";
import { ApiError } from "../../errors.ts";
import { unservedMember, type ChatBody, type Served } from "../request.ts";
import { translatedRequest } from "../translated.ts";

type Json = Record<string, unknown>;

export interface NativeBody {
  body: Json;
  /** The unparsed body. */
  text: string;
  betas: string | undefined;
  served: Served;
}

/** translate: to a chat completion. Throws ApiError. */
export function servedNatively(of: NativeBody, translate: () => ChatBody): ChatBody {
  const refused = refusedNatively(of.body);
  if (refused !== null) throw unservedMember(refused.path, refused.why);
  let translated: ChatBody;
  try {
    translated = translate();
  } catch (error) {
    if (!(error instanceof ApiError) || !untranslatable.has(error.code)) throw error;
    // Only anthropic arms can take it.
    const param = error.param ?? "messages";
    const read = standIn(of);
    return withNative({ ...read, fields: new Map<Capability, string>([["anthropic", param]]) }, of, ["anthropic"]);
  }
  const { passthrough, requires } = translated.request;
  const isPlain = passthrough === null && !saysMore(of.body) && !betasOf(of).some((name) => ofTexts.test(name));
  return isPlain ? translated : withNative(translated, of, requires);
}

/** Betas that change what a text alone may be; the others come with members of the body. */
const ofTexts = /^(context|output)-\d/;

const betasOf = ({ betas = "" }: NativeBody): string[] =>
  betas
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

const untranslatable = new Set(["unsupported_value", "unsupported_parameter"]);

/** Members that become fields of the request, or are not forwarded. */
const ofRequest = ["model", "max_tokens", "temperature", "top_p", "stop_sequences", "stream", "precedent"];

function withNative(read: ChatBody, of: NativeBody, requires: string[]): ChatBody {
  const { body, text } = of;
  const native = rawMembers(text);
  for (const name of [...native.keys()]) if (body[name] === null || ofRequest.includes(name)) native.delete(name);
  const betas = betasOf(of);
  if (betas.length > 0) native.set("betas", JSON.stringify(betas));
  const members = rawMembers(read.request.passthrough ?? "{}");
  members.set(nativeMember, objectOf(native));
  const privacy = isObject(body["precedent"]) ? body["precedent"]["privacy"] : null;
  const { cache, share } = isObject(privacy) ? privacy : {};
  return {
    ...read,
    request: {
      ...read.request,
      passthrough: objectOf(members),
      requires,
      // Same defaults as all requests with passthrough.
      privacy: { ...read.request.privacy, cache: cache === true, share: share === true },
    },
  };
}

/** The request's texts, for routing and for the log. */
function standIn({ body, served }: NativeBody): ChatBody {
  const { model, max_tokens, temperature, top_p, stream, stop_sequences: stop, precedent, system } = body;
  const turns = listOf(body["messages"]).map((turn) => {
    const { role, content } = isObject(turn) ? turn : {};
    return { role: role === "assistant" ? "assistant" : "user", content: textsOf(content) };
  });
  const first = system === undefined || system === null ? [] : [{ role: "system", content: textsOf(system) }];
  const same = { model, max_tokens, temperature, top_p, stream, stop, precedent };
  const origins = [...first.map(() => "system"), ...turns.map((_, index) => `messages[${index}]`)];
  return translatedRequest(
    { chat: { ...same, messages: [...first, ...turns] }, origins, names: { stop: "stop_sequences" } },
    served,
  );
}

/** A block without text becomes its type's name. */
function textsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((block) => {
      const { type, text } = isObject(block) ? block : {};
      return typeof text === "string" ? text : `[${String(type).slice(0, 40)}]`;
    })
    .join("\n");
}

const wishes = ["context_management", "speed", "inference_geo", "diagnostics"];

/** Whether the translation of a body without tools and images loses members. */
function saysMore(body: Json): boolean {
  const { thinking, output_config: config, messages, service_tier: tier } = body;
  const thinks = isObject(thinking) && thinking["type"] !== "disabled";
  const effort = isObject(config) && (config["effort"] ?? null) !== null;
  const thought = listOf(messages).some(
    (turn) => isObject(turn) && listOf(turn["content"]).some((block) => isObject(block) && isThought(block)),
  );
  // Another tier is the default.
  const isStandard = tier === "standard_only";
  return thinks || effort || thought || isStandard || wishes.some((name) => (body[name] ?? null) !== null);
}

const isThought = ({ type }: Json): boolean => type === "thinking" || type === "redacted_thinking";
