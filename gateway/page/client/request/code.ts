// A request as a command line and as code of OpenAI's client, to be asked again. What the request
// had beyond texts goes along as it was written, number by number.
import type { Conversation } from "../../../conversation.ts";
import { domainOf } from "../format.ts";

type Asked = Conversation["request"];

/** The members of a chat completion's body, as JSON texts by name. */
function membersOf(asked: Asked): [name: string, json: string][] {
  const { params, metadata, documents, allowedArms, privacy } = asked;
  const { user, ...others } = metadata;
  const own = {
    ...(domainOf(asked.domain) === "default" ? {} : { domain: domainOf(asked.domain) }),
    ...(documents.length > 0 && { documents }),
    ...(allowedArms.length > 0 && { allow: { arms: allowedArms } }),
    ...(privacy.fresh || !privacy.cache || !privacy.share ? { privacy } : {}),
  };
  const members: Record<string, unknown> = {
    ...{ model: "auto", messages: asked.messages },
    ...{ max_tokens: params.maxTokens, temperature: params.temperature, top_p: params.topP, seed: params.seed },
    ...(params.stop.length > 0 && { stop: params.stop }),
    ...(user !== undefined && { user }),
    ...(Object.keys(others).length > 0 && { metadata: others }),
    ...(Object.keys(own).length > 0 && { precedent: own }),
  };
  const through = new Set(Object.keys(beyondText(asked)));
  return Object.entries(members).flatMap(([name, value]) =>
    value === null || through.has(name) ? [] : [[name, JSON.stringify(value)]],
  );
}

/** Members beside texts; {} if there are none or they can't be parsed. */
export function beyondText({ passthrough }: Pick<Asked, "passthrough">): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(passthrough);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The body of the request, as JSON. */
export function bodyOf(asked: Asked): string {
  const own = membersOf(asked).map(([name, json]) => `${JSON.stringify(name)}: ${json}`);
  // Without its braces.
  const through = asked.passthrough.trim().slice(1, -1).trim();
  const all = Object.keys(beyondText(asked)).length > 0 ? [...own, through] : own;
  return `{\n  ${all.join(",\n  ")}\n}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const curlOf = (asked: Asked, origin: string): string =>
  [
    `curl ${quoted(`${origin}/v1/chat/completions`)} -H 'Content-Type: application/json' \\`,
    `  -H "Authorization: Bearer $PRECEDENT_API_KEY" --data-raw ${quoted(bodyOf(asked))}`,
  ].join("\n");

/** JSON strings are valid Python strings. */
export const pythonOf = (asked: Asked, origin: string): string =>
  [
    "import json",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key="...")`,
    `body = json.loads(${JSON.stringify(bodyOf(asked))})`,
    'names = {"model", "messages"}',
    "answer = client.chat.completions.create(",
    '    model=body["model"],',
    '    messages=body["messages"],',
    "    extra_body={name: value for name, value in body.items() if name not in names},",
    ")",
    "print(answer.choices[0].message)",
  ].join("\n");
