// Content blocks of Anthropic's format in pieces: a block's text, and whole blocks again. Pure.
import { RawJson } from "./exact-json.ts";
import { inputOf, isObject, listOf } from "./json-shape.ts";

type Json = Record<string, unknown>;

/** A block with its text empty, or a delta of another kind for the block before it. */
export interface NativePiece {
  head: Json;
  text: string;
}

/** The member of a passthrough that holds a body of the Messages API, for arms of that format. */
export const nativeMember = "anthropic";
/** The member of an answer's message that holds {pieces, end, usage}. */
export const nativeAnswerMember = "anthropic";

interface BlockText {
  /** The member that comes in pieces; kind null: none does. */
  name: string;
  kind: "text" | "json" | null;
  delta: { type: string; member: string } | null;
}

/** Key: type of the block. */
export function blockText({ type }: Json): BlockText {
  if (type === "text" || type === "thinking")
    return { name: type, kind: "text", delta: { type: `${type}_delta`, member: type } };
  if (typeof type === "string" && type.endsWith("tool_use"))
    return { name: "input", kind: "json", delta: { type: "input_json_delta", member: "partial_json" } };
  return { name: "", kind: null, delta: null };
}

/** A tool's call of a chat completion; throws where its arguments are no JSON object. */
export function toolUseOf(call: unknown, refused: (name: unknown) => Error): object {
  const { id, function: called } = isObject(call) ? call : {};
  const { name, arguments: text } = isObject(called) ? called : {};
  const input = inputOf(text);
  if (typeof id !== "string" || typeof name !== "string" || input === null) throw refused(name);
  return { type: "tool_use", id, name, input: new RawJson(input) };
}

/** Values for exactJson: tool inputs keep their text if it is a JSON object. */
export function blocksOf(pieces: readonly NativePiece[]): Json[] {
  const blocks: Json[] = [];
  for (const { head, text } of pieces) {
    const { delta } = head;
    const last = blocks.at(-1);
    if (isObject(delta)) {
      if (last !== undefined) follow(last, delta);
      continue;
    }
    const { name, kind } = blockText(head);
    // Some endpoints give an input whole, with the head.
    if (kind === "json")
      blocks.push({ ...head, [name]: isObjectJson(text) ? new RawJson(text) : objectIn(head[name]) });
    else blocks.push(kind === "text" && (head[name] ?? "") === "" ? { ...head, [name]: text } : { ...head });
  }
  return blocks;
}

/** Texts are appended, citations collected, other members set. */
function follow(block: Json, delta: Json): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === "type" || name === "__proto__") continue;
    const before = block[name];
    if (name === "citation") block["citations"] = [...listOf(block["citations"]), value];
    else block[name] = typeof before === "string" && typeof value === "string" ? before + value : value;
  }
}

const objectIn = (value: unknown): Json => (isObject(value) ? value : {});

function isObjectJson(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
