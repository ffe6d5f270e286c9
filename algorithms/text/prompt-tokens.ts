// Tokens of the prompt for an endpoint: texts of its pieces, and JSON that passes through. Pure.
import { objectOf, rawMembers } from "./exact-json.ts";
import { isObject, listOf } from "./json-shape.ts";
import { nativeMember } from "./message-blocks.ts";
import { tokensAtMost, tokensPerTurn } from "./tokens.ts";

/** A piece of a prompt. */
interface Sent {
  kind: string;
  text: string;
}

/** More than most vision models make of an image in full detail. */
const imageTokens = 2_500;

/** JSON of a body, without the data that stands in its messages' images and files. Linear. */
function withoutData(json: string): string {
  const held = new Map<string, number>();
  const { messages } = JSON.parse(json) as { messages?: unknown };
  for (const message of listOf(messages))
    for (const part of listOf(isObject(message) ? message["content"] : null).filter(isObject)) {
      const { image_url: image, input_audio: audio, file } = part;
      const places = [
        isObject(image) ? image["url"] : image,
        isObject(audio) && audio["data"],
        isObject(file) && file["file_data"],
      ];
      for (const data of places) if (typeof data === "string") held.set(data, (held.get(data) ?? 0) + 1);
    }
  if (held.size === 0) return json;
  // A text that begins like data goes out as text, and is paid.
  return json.replace(/"data:[^"\\]*"/g, (text) => {
    const left = held.get(text.slice(1, -1)) ?? 0;
    if (left > 0) held.set(text.slice(1, -1), left - 1);
    return left > 0 ? '""' : text;
  });
}

/**
 * A body of Anthropic's format without the data of its images, in messages and in results of tools.
 * What looks like an image elsewhere, such as in a tool's input, goes out as text, and is paid.
 */
function withoutImages(json: string): string {
  const body: unknown = JSON.parse(json);
  if (!isObject(body)) return json;
  const messages = listOf(body["messages"]).map((one) => withoutImagesIn(one, true));
  return JSON.stringify({ ...body, messages });
}

function withoutImagesIn(of: unknown, withResults: boolean): unknown {
  if (!isObject(of) || !Array.isArray(of["content"])) return of;
  const content = (of["content"] as unknown[]).map((block) => {
    if (!isObject(block)) return block;
    if (block["type"] === "image") return { type: "image" };
    return withResults && block["type"] === "tool_result" ? withoutImagesIn(block, false) : block;
  });
  return { ...of, content };
}

/**
 * What goes out: JSON for the endpoint without data, "" for none, and the pieces' texts; messages
 * in it stand in for all pieces but system texts. Linear.
 */
export function textsSent(pieces: readonly Sent[], passthrough?: string | null): string[] {
  if (passthrough === undefined || passthrough === null) return ["", ...pieces.map(({ text }) => text)];
  const members = rawMembers(passthrough);
  const hasMessages = members.has("messages");
  const native = members.get(nativeMember);
  // A request in both formats is sent in one.
  members.delete(nativeMember);
  const json = native !== undefined && !hasMessages ? withoutImages(native) : withoutData(objectOf(members));
  const sent = hasMessages || native !== undefined ? pieces.filter(({ kind }) => kind === "system") : pieces;
  return [json, ...sent.map(({ text }) => text)];
}

/** Tokens of the prompt that goes out, by `count`. Linear. */
export function promptTokens(
  pieces: readonly Sent[],
  passthrough: string | null = null,
  count: (text: string) => number = tokensAtMost,
): number {
  const [json = "", ...texts] = textsSent(pieces, passthrough);
  const images = json.match(/"type"\s*:\s*"image(?:_url)?"/g)?.length ?? 0;
  return texts.reduce((sum, text) => sum + count(text) + tokensPerTurn, count(json) + images * imageTokens);
}
