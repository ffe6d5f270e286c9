// An answer of the Messages API, whole or as a stream of events, read as the pieces of a chat
// completion, so that the same code handles both. For a client of the same format the
// blocks are kept as well (blocks.ts).
import { rawMembers } from "../../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../../algorithms/text/json-shape.ts";
import { createAnswer, type Answer, type AnswerOptions } from "../openai/answer.ts";
import { createBlocks, firstOf, inputsOf, lastEvent } from "./blocks.ts";

type Json = Record<string, unknown>;

/** native: the client speaks this format, too. */
export function createMessageAnswer({ onPiece, ...options }: AnswerOptions, native: boolean): Answer {
  const blocks = createBlocks(native && options.extra);
  const answer = createAnswer({
    ...options,
    // Blocks have the thoughts, too.
    onPiece: onPiece && ((text, calls, _, said) => onPiece(text, calls, blocks.next(), native ? undefined : said)),
  });
  /** Key: index of the block. The tool call's number, and whether it has arguments. */
  const calls = new Map<unknown, { index: number; input: string; hasInput: boolean }>();
  let isDone = false;
  let usage: Json = {};
  /** Members of the message that its first event alone may say. */
  let first: Json = {};

  const chunk = (delta: Json, more: Json = {}): void =>
    answer.take({ choices: [{ index: 0, delta, finish_reason: null, ...more }] });
  const piece = (index: number, call: Json): void => chunk({ tool_calls: [{ index, ...call }] });

  const start = ({ index, content_block: block }: Json, json: string): void => {
    if (!isObject(block)) return;
    const { type, text, thinking, id, name, input } = block;
    if (runsCode(block)) answer.take({ usage: codeRun });
    if (type === "text" && typeof text === "string" && text !== "") chunk({ content: text });
    if (type === "thinking" && typeof thinking === "string") chunk({ reasoning_content: thinking });
    if (type !== "tool_use") return;
    // Some endpoints give an input whole, with the head.
    const written = rawMembers(rawMembers(json).get("content_block") ?? "{}").get("input");
    const call = {
      index: calls.size,
      input: isObject(input) ? (written ?? JSON.stringify(input)) : "{}",
      hasInput: false,
    };
    stop({ index });
    calls.set(index, call);
    piece(call.index, { id, type: "function", function: { name, arguments: "" } });
  };
  const add = ({ index, delta }: Json): void => {
    if (!isObject(delta)) return;
    const { type, text, thinking, partial_json: json } = delta;
    if (type === "text_delta") chunk({ content: text });
    if (type === "thinking_delta") chunk({ reasoning_content: thinking });
    const call = calls.get(index);
    if (type !== "input_json_delta" || call === undefined || json === "") return;
    call.hasInput = true;
    piece(call.index, { function: { arguments: json } });
  };
  const stop = ({ index }: Json): void => {
    const call = calls.get(index);
    if (call === undefined || call.hasInput) return;
    call.hasInput = true;
    piece(call.index, { function: { arguments: call.input } });
  };
  const note = (reported: unknown): void => {
    if (!isObject(reported)) return;
    // null: as an earlier event said.
    const said = Object.entries(reported).filter(([, value]) => value !== null);
    usage = { ...reported, ...usage, ...Object.fromEntries(said) };
  };
  /** The end of the message: stop reason, and members beside the text. */
  const end = (event: Json): void => {
    const { delta, usage: reported } = event;
    // Some endpoints leave out the ends of blocks.
    for (const index of calls.keys()) stop({ index });
    note(reported);
    blocks.end({ ...first, ...event }, usage);
    const { stop_reason: reason = null, stop_sequence } = isObject(delta) ? delta : {};
    answer.take({ usage: reported, choices: [{ index: 0, delta: {}, finish_reason: reason, stop_sequence }] });
  };

  const event = (value: Json, json: string): void => {
    const { type, message } = value;
    blocks.take(value);
    if (type === "message_start" && isObject(message)) {
      note(message["usage"]);
      first = firstOf(message);
      answer.take({ model: message["model"], usage: promptOf(message["usage"]) });
      chunk({ role: "assistant" });
    } else if (type === "content_block_start") start(value, json);
    else if (type === "content_block_delta") add(value);
    else if (type === "content_block_stop") stop(value);
    else if (type === "message_delta") end(value);
    else if (type === "message_stop") isDone = true;
    // Events of other names may come at any time.
    else if (type === "error" || typeof type !== "string") answer.take(value);
    const left = onPiece === undefined ? [] : blocks.next();
    if (left.length > 0) onPiece?.("", [], left);
  };

  /** A whole body as the events of an equal stream. */
  const whole = (body: Json, text: string): void => {
    const { content, model, stop_reason = null, usage: reported, ...rest } = body;
    const [message, inputs] = [{ model, usage: reported }, inputsOf(text)];
    const calls: Json[] = [];
    const parts = listOf(content).filter(isObject);
    for (const [index, block] of listOf(content).entries()) {
      if (!isObject(block)) continue;
      if (runsCode(block)) answer.take({ usage: codeRun });
      blocks.whole(block, inputs[index] ?? "{}");
      if (block["type"] === "tool_use")
        calls.push({
          ...{ id: block["id"], type: "function" },
          function: { name: block["name"], arguments: inputs[index] },
        });
    }
    blocks.end(lastEvent({ ...rest, stop_reason }), isObject(reported) ? reported : {});
    const texts = parts.map(({ type, text: one }) => (type === "text" && typeof one === "string" ? one : "")).join("");
    const thoughts = parts.map(({ thinking }) => (typeof thinking === "string" ? thinking : "")).join("");
    answer.take({
      ...message,
      choices: [
        {
          index: 0,
          message: {
            ...{ role: "assistant", content: texts },
            ...(thoughts !== "" && { reasoning_content: thoughts }),
            ...(calls.length > 0 && { tool_calls: calls }),
            ...blocks.members(),
          },
          ...{ finish_reason: stop_reason, stop_sequence: rest["stop_sequence"] },
        },
      ],
    });
  };

  return {
    ...answer,
    take(value, text = "") {
      if (!isObject(value)) answer.take(value);
      else if (value["type"] === "message" && Array.isArray(value["content"]) && text !== "") whole(value, text);
      else if (options.isWhole) answer.take(value);
      else event(value, text);
    },
    complete(isWhole) {
      if (!options.isWhole) {
        const members = blocks.members();
        if (Object.keys(members).length > 0) chunk(members);
      }
      return answer.complete(isWhole || isDone);
    },
  };
}

/** Tokens at the beginning: its few of the answer are none of one that breaks off later. */
const promptOf = (usage: unknown): unknown => (isObject(usage) ? { ...usage, output_tokens: 0 } : usage);

/** Code runs in a container, which the usage leaves out: it counts as one use of a tool. */
const runsCode = ({ type, name }: Json): boolean =>
  type === "server_tool_use" && typeof name === "string" && name.endsWith("code_execution");
const codeRun: Json = { server_tool_use: { code_execution_requests: 1 } };
