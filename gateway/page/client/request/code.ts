// A request as a command line and as code of the client of its API, to be asked again. What the
// request had beyond texts goes along as it was written, number by number.
import { objectOf, rawMembers } from "../../../../algorithms/text/exact-json.ts";
import { nativeMember } from "../../../../algorithms/text/message-blocks.ts";
import type { Conversation } from "../../../conversation.ts";
import { domainOf } from "../format.ts";

type Asked = Conversation["request"];

/** Members beside texts; {} if there are none or they can't be parsed. */
export function beyondText({ passthrough }: Pick<Asked, "passthrough">): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(passthrough);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Whether it came as a body of Anthropic's API that says more than a chat completion can. */
const isNative = (asked: Asked): boolean => beyondText(asked)[nativeMember] !== undefined;

/** Members of Precedent's own; undefined: none. */
function ownOf({ domain, documents, allowedArms, limits, privacy }: Asked): object | undefined {
  const allow = Object.entries({
    arms: allowedArms.length > 0 ? allowedArms : null,
    max_cost: limits?.maxCost,
    deadline_ms: limits?.deadlineMs,
    cost_weight: limits?.costWeight,
  }).filter(([, value]) => value !== null && value !== undefined);
  const own = {
    ...(domainOf(domain) === "default" ? {} : { domain: domainOf(domain) }),
    ...(documents.length > 0 && { documents }),
    ...(allow.length > 0 && { allow: Object.fromEntries(allow) as object }),
    ...(privacy.fresh || !privacy.cache || !privacy.share ? { privacy } : {}),
  };
  return Object.keys(own).length > 0 ? own : undefined;
}

/** The members of the body, as JSON texts by name. */
function membersOf(asked: Asked): Map<string, string> {
  const { params, metadata } = asked;
  const { maxTokens, temperature, topP, seed, stop } = params;
  const { user, ...others } = metadata;
  const isBeyond = Object.keys(beyondText(asked)).length > 0;
  const through = isBeyond ? rawMembers(asked.passthrough) : new Map<string, string>();
  const native = rawMembers(through.get(nativeMember) ?? "{}");
  // It becomes a header.
  native.delete("betas");
  const stops = stop.length === 0 ? undefined : stop;
  const members: Record<string, unknown> = {
    ...{ model: "auto", max_tokens: maxTokens, temperature, top_p: topP },
    ...(isNative(asked)
      ? { stop_sequences: stops }
      : {
          ...{ messages: asked.messages, seed, stop: stops, user },
          metadata: Object.keys(others).length > 0 ? others : undefined,
        }),
    precedent: ownOf(asked),
  };
  const own = Object.entries(members).flatMap(([name, value]): [string, string][] =>
    value === null || value === undefined ? [] : [[name, JSON.stringify(value)]],
  );
  return new Map([...own, ...(isNative(asked) ? native : through)]);
}

/** The body of the request, as JSON. */
export const bodyOf = (asked: Asked): string => objectOf(membersOf(asked));

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Names of Anthropic's previews that it asked for; empty: none. */
function betasOf(asked: Asked): string {
  const { betas } = (beyondText(asked)[nativeMember] ?? {}) as { betas?: unknown };
  return Array.isArray(betas) ? betas.map(String).join(",") : "";
}

export function curlOf(asked: Asked, origin: string): string {
  const betas = betasOf(asked);
  return [
    `curl ${quoted(`${origin}/v1/${isNative(asked) ? "messages" : "chat/completions"}`)} -H 'Content-Type: application/json' \\`,
    ...(betas === "" ? [] : [`  -H ${quoted(`anthropic-beta: ${betas}`)} \\`]),
    `  -H "Authorization: Bearer $PRECEDENT_API_KEY" --data-raw ${quoted(bodyOf(asked))}`,
  ].join("\n");
}

/** JSON strings are valid Python strings. */
export function pythonOf(asked: Asked, origin: string): string {
  const [library, base, create, answer, betas] = isNative(asked)
    ? ["anthropic", "Anthropic", "messages.create", "answer.content", betasOf(asked)]
    : ["openai", "OpenAI", "chat.completions.create", "answer.choices[0].message", ""];
  const names = isNative(asked) ? ["model", "messages", "max_tokens"] : ["model", "messages"];
  return [
    "import json",
    `from ${library} import ${base}`,
    "",
    `client = ${base}(base_url=${JSON.stringify(isNative(asked) ? origin : `${origin}/v1`)}, api_key="...")`,
    `body = json.loads(${JSON.stringify(bodyOf(asked))})`,
    `names = {${names.map((name) => JSON.stringify(name)).join(", ")}}`,
    `answer = client.${create}(`,
    ...names.map((name) => `    ${name}=body[${JSON.stringify(name)}],`),
    "    extra_body={name: value for name, value in body.items() if name not in names},",
    ...(betas === "" ? [] : [`    extra_headers={"anthropic-beta": ${JSON.stringify(betas)}},`]),
    ")",
    `print(${answer ?? ""})`,
  ].join("\n");
}
