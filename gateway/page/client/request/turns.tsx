// A conversation as it was: texts, images, calls of tools and their results. All of it is shown as
// text; of images only those that came inside of the request: nothing is loaded from elsewhere.
import { nativeMember } from "../../../../algorithms/text/message-blocks.ts";
import type { Conversation } from "../../../conversation.ts";
import { roleWord } from "../words.ts";
import { beyondText } from "./code.ts";

interface Call {
  id?: unknown;
  name: string;
  arguments: string;
}
type Part = { text: string } | { image: string } | { other: string };
export interface Turn {
  who: string;
  parts: Part[];
  calls: Call[];
  /** Label of a marked turn. */
  note?: string | undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";
/** Blocks of Anthropic's API are calls where their type ends so. */
const isCall = (part: unknown): boolean => isRecord(part) && String(part["type"]).endsWith("tool_use");
const inside = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]+$/;

function partOf(part: unknown): Part {
  if (typeof part === "string") return { text: part };
  if (!isRecord(part)) return { other: pretty(part) };
  if (typeof part["text"] === "string") return { text: part["text"] };
  if (typeof part["thinking"] === "string") return { other: `Thought: ${part["thinking"]}` };
  if (part["type"] === "tool_result") {
    const { content, tool_use_id: of } = part;
    return { other: `Result (${String(of)}): ${typeof content === "string" ? content : pretty(content)}` };
  }
  const image = imageOf(part);
  if (typeof image === "string") return inside.test(image) ? { image } : { other: `Image: ${image.slice(0, 2_000)}` };
  return { other: pretty(part) };
}

/** Address of an image of either API. */
function imageOf({ type, source, image_url: given }: Record<string, unknown>): unknown {
  if (type !== "image" || !isRecord(source)) return isRecord(given) ? given["url"] : given;
  const { media_type: kind, data, url } = source;
  return typeof data === "string" ? `data:${String(kind)};base64,${data}` : url;
}

/** Arguments are written by a model and may be invalid JSON. */
function callOf(call: unknown): Call {
  const made = isRecord(call) && isRecord(call["function"]) ? call["function"] : isRecord(call) ? call : {};
  const given = made["arguments"] ?? made["input"] ?? "";
  const text = typeof given === "string" ? given : pretty(given);
  let shown = text;
  try {
    shown = pretty(JSON.parse(text));
  } catch {
    // As it was written.
  }
  const name = typeof made["name"] === "string" ? made["name"] : "a tool";
  return { name, arguments: shown, ...(isRecord(call) ? { id: call["id"] } : {}) };
}

const callsOf = (message: Record<string, unknown>): Call[] => [
  ...(Array.isArray(message["tool_calls"]) ? message["tool_calls"].map(callOf) : []),
  ...(isRecord(message["function_call"]) ? [callOf(message["function_call"])] : []),
  ...(Array.isArray(message["content"]) ? message["content"].filter(isCall).map(callOf) : []),
];

function turnOf(message: unknown): Turn {
  if (!isRecord(message)) return { who: "Message", parts: [{ other: pretty(message) }], calls: [] };
  const { role, content, name, tool_call_id: of } = message;
  const parts = Array.isArray(content)
    ? content.filter((part) => !isCall(part)).map(partOf)
    : content === null || content === undefined
      ? []
      : [partOf(content)];
  const about = [name, of].filter((one) => typeof one === "string").join(", ");
  return { who: `${roleWord(String(role))}${about === "" ? "" : ` (${about})`}`, parts, calls: callsOf(message) };
}

/** The messages of a request, those with more than text as they were sent. */
export function turnsOf(asked: Conversation["request"]): Turn[] {
  const { messages: translated, [nativeMember]: native } = beyondText(asked);
  const { system, messages = translated } = isRecord(native) ? native : {};
  const before = isRecord(native) && system !== undefined ? [turnOf({ role: "system", content: system })] : [];
  return Array.isArray(messages)
    ? [...before, ...messages.map(turnOf)]
    : asked.messages.map(({ role, content }) => ({ who: roleWord(role), parts: [{ text: content }], calls: [] }));
}

/** Members of an answer beside its text. */
export function callsIn(passthrough: string): Call[] {
  const { message } = beyondText({ passthrough });
  return isRecord(message) ? callsOf(message) : [];
}

export const TurnView = ({ turn: { who, parts, calls, note } }: { turn: Turn }) => (
  <div class={note === undefined ? "turn" : "turn marked"}>
    <h3>
      {who}
      {note !== undefined && <span class="source">{note}</span>}
    </h3>
    {parts.map((part, i) =>
      "image" in part ? (
        <img key={i} src={part.image} alt="in the request" />
      ) : (
        <pre key={i} dir="auto" tabIndex={0} role="region" aria-label={`${who}, text`}>
          {"text" in part ? part.text : part.other}
        </pre>
      ),
    )}
    {calls.map((call, i) => (
      <div key={i} class="call">
        <span class="quiet">calls</span> <code>{call.name}</code>
        <pre tabIndex={0} role="region" aria-label={`Arguments of ${call.name}`}>
          {call.arguments}
        </pre>
      </div>
    ))}
  </div>
);
