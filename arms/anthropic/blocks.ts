// The content blocks of an answer as they came, for clients of the same format: pieces for a
// stream, and all of them with the answer. A block is its head and its text (text, thoughts, or a
// tool's input as JSON); a delta of another kind, such as a signature, follows as a piece of its
// own.
import { rawItems, rawMembers } from "../../algorithms/text/exact-json.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { blockText, nativeAnswerMember, type NativePiece } from "../../algorithms/text/message-blocks.ts";
import { wellFormedPieces, type Pieces } from "../../algorithms/text/well-formed.ts";
import type { BlockPiece } from "../../schemas/types.ts";

type Json = Record<string, unknown>;

/** native: returns all blocks; otherwise only thinking, at the end. */
export function createBlocks(native: boolean) {
  const pieces: NativePiece[] = [];
  const open = new Map<unknown, { piece: NativePiece; position: number; pass: Pieces }>();
  let ready: BlockPiece[] = [];
  let ended: { end: Json; usage: Json } | null = null;

  const add = (head: Json, text: string): number => {
    pieces.push({ head, text });
    ready.push({ index: pieces.length - 1, head: JSON.stringify(head).toWellFormed(), text });
    return pieces.length - 1;
  };
  const start = ({ index, content_block: block }: Json): void => {
    if (!isObject(block)) return;
    const { name, kind } = blockText(block);
    const begun = block[name];
    const isText = kind === "text" && typeof begun === "string";
    // A tool's input begins as an empty object, and comes in pieces.
    const position = add(isText ? { ...block, [name]: "" } : block, isText ? begun : "");
    open.set(index, { piece: pieces[position]!, position, pass: wellFormedPieces() });
  };
  const follow = ({ index, delta }: Json): void => {
    const of = open.get(index);
    if (of === undefined || !isObject(delta)) return;
    const { delta: kind } = blockText(of.piece.head);
    const given = kind === null || delta["type"] !== kind.type ? undefined : delta[kind.member];
    if (typeof given !== "string") {
      add({ delta }, "");
      return;
    }
    const text = of.pass(given);
    of.piece.text += text;
    if (text !== "") ready.push({ index: of.position, head: null, text });
  };

  return {
    /** Takes an event of a stream. */
    take(event: Json): void {
      if (event["type"] === "content_block_start") start(event);
      if (event["type"] === "content_block_delta") follow(event);
    },
    /** Takes a block of a whole body; `input`: JSON of its input. */
    whole(block: Json, input: string): void {
      const { name, kind } = blockText(block);
      const own = block[name];
      if (kind === "json") add({ ...block, [name]: {} }, input);
      else if (kind === "text" && typeof own === "string") add({ ...block, [name]: "" }, own);
      else add(block, "");
    },
    /** `event`: the last one, with the reason. */
    end({ type: _type, usage: _usage, ...end }: Json, usage: Json): void {
      ended = { end, usage };
    },
    /** Pieces since the last call. */
    next(): BlockPiece[] {
      const next = native ? ready : [];
      ready = [];
      return next;
    },
    /** Further members of the message: blocks, or thinking with signatures. */
    members(): Json {
      if (native) return { [nativeAnswerMember]: { pieces, ...ended } };
      const thoughts = signed(pieces);
      return thoughts.length === 0 ? {} : { thinking_blocks: thoughts };
    },
  };
}

/** Thinking in the form that clients of chat completions send back. */
function signed(pieces: readonly NativePiece[]): Json[] {
  const found: Json[] = [];
  let last: Json | null = null;
  for (const { head, text } of pieces) {
    const { delta, type } = head;
    if (isObject(delta)) {
      if (last !== null && typeof delta["signature"] === "string")
        last["signature"] = `${typeof last["signature"] === "string" ? last["signature"] : ""}${delta["signature"]}`;
      continue;
    }
    last = type === "thinking" ? { ...head, thinking: text } : type === "redacted_thinking" ? { ...head } : null;
    if (last !== null) found.push(last);
  }
  return found;
}

/** JSON of the tool inputs of a body's blocks, as written; "{}" for a block without one. */
export const inputsOf = (body: string): string[] =>
  rawItems(rawMembers(body).get("content") ?? "[]").map((block) => rawMembers(block).get("input") ?? "{}");

/** What a stream's first event says of a message that none has to say again. */
export function firstOf(message: Json): Json {
  const { delta: _delta, ...more } = lastEvent(message);
  const repeated = new Set(["model", "content", "usage"]);
  return Object.fromEntries(Object.entries(more).filter(([name, value]) => value !== null && !repeated.has(name)));
}

const ofDelta = new Set(["stop_reason", "stop_sequence", "stop_details", "container"]);

/** What the last event of an equal stream says of a message, besides its usage. */
export function lastEvent({ id: _id, type: _type, role: _role, ...message }: Json): Json {
  const members = Object.entries(message);
  const delta = Object.fromEntries(members.filter(([name]) => ofDelta.has(name)));
  return {
    ...Object.fromEntries(members.filter(([name]) => !ofDelta.has(name))),
    delta: { stop_reason: null, stop_sequence: null, ...delta },
  };
}
