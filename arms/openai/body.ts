// The body of a call, and where it goes: members that a client passes through stand in it as they
// were written, numbers and all.
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { objectOf, rawMembers } from "../../algorithms/text/exact-json.ts";
import { nativeMember } from "../../algorithms/text/message-blocks.ts";
import { withoutTemplateMarkers } from "../../algorithms/text/template-markers.ts";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { Piece } from "../../schemas/types.ts";
import type { ArmRequest } from "../arm.ts";
import { dropForeign, engineHints, foreignTo } from "./hints.ts";
import { chatMessages, type ChatMessage } from "../messages.ts";

/** JSON. plan has seen that what passes through can be read. */
export function completionBody(config: OpenAiArmConfig, request: ArmRequest): string {
  const { params, pieces, passthrough } = request;
  const members = rawMembers(passthrough ?? "{}");
  members.delete(nativeMember);
  dropForeign(members, foreignTo(config));
  const messages = members.get("messages");
  const longest = params.maxTokens ?? config.maxTokens;
  const stop = params.stop.length > 0 ? params.stop : config.stop;
  const ours = {
    model: config.model,
    ...(messages === undefined && { messages: chatMessages(pieces.map(inert)).map(messageParam) }),
    ...(longest !== undefined && { [config.maxTokensField]: longest }),
    ...(params.temperature !== null && { temperature: params.temperature }),
    ...(params.topP !== null && { top_p: params.topP }),
    ...(params.seed !== null && { seed: params.seed }),
    ...(stop.length > 0 && { stop }),
    stream: config.stream,
    ...(config.stream && { stream_options: { include_usage: true } }),
    ...engineHints(config, request),
  };
  if (messages !== undefined) members.set("messages", withSystem(messages, pieces));
  for (const [name, value] of Object.entries({ ...config.body, ...ours })) members.set(name, JSON.stringify(value));
  return objectOf(members);
}

/** Address of chat completions. The base's query stays (`?api-version=...` of Azure). */
export function completionsUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  url.pathname += url.pathname.endsWith("/") ? "chat/completions" : "/chat/completions";
  return url.href;
}

/** What an arm's calls authenticate with. */
export type Credentials = Pick<OpenAiArmConfig, "apiKey" | "headers">;

/** Azure's key has a header of its own: a bearer token would be one of its directory. */
export const keyHeaders = ({
  baseUrl,
  apiKey,
  headers,
}: Credentials & { baseUrl: string }): Record<string, string> => ({
  ...(new URL(baseUrl).searchParams.has("api-version")
    ? { "api-key": apiKey }
    : { authorization: `Bearer ${apiKey === "" ? "none" : apiKey}` }),
  ...headers,
});

/** Texts of others must not pass for the template's markers; the client's own go out as is. */
export const inert = (piece: Piece): Piece =>
  piece.kind === "example" || piece.kind === "document"
    ? { ...piece, text: withoutTemplateMarkers(piece.text) }
    : piece;

/** As they are, behind the arm's own system prompt where they have none. */
function withSystem(messages: string, pieces: ArmRequest["pieces"]): string {
  const [first] = JSON.parse(messages) as { role?: string }[];
  if (first?.role === "system" || first?.role === "developer") return messages;
  const systems = chatMessages(pieces.filter(({ kind }) => kind === "system")).map(messageParam);
  if (systems.length === 0) return messages;
  const own = JSON.stringify(systems).slice(0, -1);
  return first === undefined ? `${own}]` : `${own},${messages.slice(1)}`;
}

/** A tool's result can't be tied to a call here, so it speaks as the user. */
function messageParam({ role, content }: ChatMessage): ChatCompletionMessageParam {
  return { role: role === "tool" ? "user" : role, content };
}
