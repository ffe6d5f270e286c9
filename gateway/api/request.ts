// A chat completion's body as a Request. Unknown parts go to arms that declare them (passthrough)
// or are refused by name; values that equal the default pass.
import type { z } from "zod";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Request } from "../../schemas/types.ts";
import {
  capabilities,
  covers,
  isReserved,
  requiredByMember,
  type Capability,
} from "../../algorithms/routing/passthrough.ts";
import { refusedMember } from "../../algorithms/routing/refused-members.ts";
import { objectOf, rawMembers } from "../../algorithms/text/exact-json.ts";
import { badRequest, type ApiError } from "../errors.ts";
import { storedMark } from "../previous-response.ts";
import { bodySchema, isEmpty, isRecord, names, neutral } from "./body.ts";
import { messageOf, unservedMessage } from "./messages.ts";

/** Beside tools they say something even where they are as they would be without. */
const besideTools = new Set(["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"]);

/** Hints for an engine's cache. */
const hintMembers = new Set(["prompt_cache_options", "prompt_cache_retention"]);

/** What some arm declares; hints: every arm takes parameters. */
export type Served = ReadonlySet<Capability | "hints">;

export interface ChatBody {
  /** Without id, tenant and reply partition, and with the arms that the body itself allows. */
  request: Request;
  model: string;
  stream: boolean;
  /** Number of answers. */
  n: number;
  /** The stream ends with a chunk of the usage. */
  includeUsage: boolean;
  /** The first field that requires each capability, for the refusal where no arm has it. */
  fields: ReadonlyMap<Capability, string>;
  /** Name of a member in the client's format; absent: the same. */
  pathOf?: ((member: string) => string) | undefined;
}

/** served: what an arm declares; text: of the body, for members passed through. ApiError. */
export function chatRequest(body: unknown, served: Served = new Set(), text?: string): ChatBody {
  if (!isRecord(body) || Array.isArray(body)) throw badRequest("The body must be a JSON object.");
  const hasTools = ["tools", "functions"].some((name) => name in body && !isEmpty(body[name]) && body[name] !== null);
  const declared = [...served];
  const fields = new Map<Capability, string>();
  const through: string[] = [];
  const hints: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (names.has(name) || value === null) continue;
    if (hintMembers.has(name)) {
      hints.push(name);
      continue;
    }
    if (neutral.get(name)?.(value) === true && !(hasTools && besideTools.has(name))) continue;
    const refused = refusedMember(name, value);
    if (refused !== null) throw unservedMember(refused.path, refused.why);
    const required = requiredByMember(name, value);
    if (isReserved(name, value) || !covers(declared, required)) throw unservedMember(name);
    if (!fields.has(required)) fields.set(required, name);
    through.push(name);
  }
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const { model, messages, precedent, metadata, user, stop, stream, stream_options, n, ...params } = parsed.data;
  const read = messages.map(messageOf);
  const found = read.flatMap((one) => one.beyond);
  const beyond = found.filter(({ isHint }) => isHint !== true);
  for (const { path, requires, why } of beyond) {
    if (requires === null || !covers(declared, requires)) throw unservedMessage(path, why);
    if (!fields.has(requires)) fields.set(requires, path);
  }
  const hasDocuments = (precedent?.documents ?? []).length > 0;
  if (beyond.length > 0) {
    if (hasDocuments)
      throw badRequest(
        "Documents can't be put into messages that are not text alone: leave either out.",
        "precedent.documents",
        "unsupported_value",
      );
    through.push("messages");
  }
  // Hints go out as they are written beside what passes through anyway, or where every arm takes
  // them. Else they are left out: a hint chooses no arm.
  if (hints.length > 0 && (fields.has("parameters") || served.has("hints"))) {
    if (!fields.has("parameters")) fields.set("parameters", hints[0]!);
    through.push(...hints);
  }
  const hint = hasDocuments || beyond.length > 0 ? undefined : found.find(({ isHint }) => isHint);
  if (hint !== undefined && (through.length > 0 || served.has("hints"))) {
    if (through.length === 0) fields.set("parameters", hint.path);
    through.push("messages");
  }
  const isPlain = through.length === 0;
  // The mark says that a response may be gone on from: it is the gateway's.
  const { [storedMark]: _mark, ...ofClient } = metadata ?? {};
  const allow = precedent?.allow;
  const request = plainRequest("", {
    domain: precedent?.domain ?? null,
    messages: read.map(({ message }) => message),
    documents: precedent?.documents ?? [],
    params: {
      maxTokens: params.max_completion_tokens ?? params.max_tokens ?? null,
      temperature: params.temperature ?? null,
      topP: params.top_p ?? null,
      seed: params.seed ?? null,
      stop: typeof stop === "string" ? [stop] : (stop ?? []),
    },
    allow: {
      arms: allow?.arms ?? null,
      maxCost: allow?.max_cost ?? null,
      deadlineMs: allow?.deadline_ms ?? null,
      costWeight: allow?.cost_weight ?? null,
    },
    privacy: {
      // An answer with tools or in a format of its own helps others only where that is said.
      cache: precedent?.privacy?.cache ?? isPlain,
      share: precedent?.privacy?.share ?? isPlain,
      fresh: precedent?.privacy?.fresh ?? false,
    },
    mayAsk: precedent?.may_ask ?? true,
    mayCompare: precedent?.may_compare ?? false,
    promptCacheKey: params.prompt_cache_key || null,
    cacheSalt: params.cache_salt || null,
    passthrough: isPlain ? null : only(text ?? JSON.stringify(body), through),
    requires: capabilities.filter((one) => fields.has(one)),
    metadata: { ...(typeof user === "string" ? { user } : {}), ...ofClient },
  });
  return {
    request,
    model,
    stream: stream ?? false,
    n: n ?? 1,
    includeUsage: stream_options?.include_usage ?? false,
    fields,
  };
}

/** JSON of these members, as they are written. */
function only(text: string, names: readonly string[]): string {
  const members = rawMembers(text);
  return objectOf(names.map((name) => [name, members.get(name) ?? "null"] as const));
}

/** why: words for a sentence; absent: another value may be served. */
export function unservedMember(name: string, why?: string): ApiError {
  const of = name.slice(0, 80);
  const told = why === undefined ? " with this value: leave it out." : `: ${why}. Leave it out.`;
  return badRequest(`The parameter ${of} is not served${told}`, of, "unsupported_parameter");
}

/** The first problem, with its path. */
export function invalid({ issues }: z.ZodError): ApiError {
  const [first] = issues;
  const path = (first?.path ?? [])
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("");
  const param = path.replace(/^\./, "").slice(0, 200);
  return badRequest(
    `${param === "" ? "The body" : param}: ${first?.message ?? "is not as it should be"}`,
    param || undefined,
  );
}
