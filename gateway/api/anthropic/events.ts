// A message in Anthropic's stream events. Blocks are sequential: the block of a tool call opens
// when the one before it is complete. Earlier pieces of it are buffered.
import { inputOf, isObject } from "../../../algorithms/text/json-shape.ts";
import { blockText } from "../../../algorithms/text/message-blocks.ts";
import type { BlockPiece, CallPiece, Response } from "../../../schemas/types.ts";
import type { Chunks } from "../chunks.ts";
import { nativeAnswer, ownFields } from "../response.ts";
import { pieceOf } from "../tool-pieces.ts";
import type { ApiError } from "../../errors.ts";
import type { Named } from "../../routes/answer.ts";
import { anthropicUsage, brokenCall, ending, isCut, openMessage } from "./answer.ts";
import { anthropicErrorBody } from "./errors.ts";

const event = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

interface Call {
  id: string;
  name: string;
  /** All arguments received; `sent` characters of them were sent. */
  arguments: string;
  sent: number;
  isComplete: (piece: string) => boolean;
}

export function createMessageEvents(of: Named): Chunks {
  /** Blocks begun so far; the last is open until the next begins. */
  let blocks = 0;
  let open: "text" | "call" | "native" | null = null;
  /** Head of the open block, if the endpoint's blocks are forwarded. */
  let head: Record<string, unknown> = {};
  const calls: Call[] = [];
  /** The call whose block is open or was the last one open. */
  let current = -1;
  /** Text received during a call: a text block would end the call's block too early. */
  let held = "";

  const stop = (): string => {
    if (open === null) return "";
    open = null;
    return event("content_block_stop", { index: blocks - 1 });
  };
  const start = (kind: "text" | "call" | "native", content_block: object): string => {
    const before = stop();
    open = kind;
    return before + event("content_block_start", { index: blocks++, content_block });
  };
  const delta = (value: object): string => event("content_block_delta", { index: blocks - 1, delta: value });
  const text = (content: string): string =>
    (open === "text" ? "" : start("text", { type: "text", text: "" })) + delta({ type: "text_delta", text: content });

  const block = (piece: BlockPiece): string => {
    let out = "";
    if (piece.head !== null) {
      const read = JSON.parse(piece.head) as Record<string, unknown>;
      if (isObject(read["delta"])) return delta(read["delta"]);
      head = read;
      out = start("native", head);
    }
    const { delta: kind } = blockText(head);
    return piece.text === "" || kind === null ? out : out + delta({ type: kind.type, [kind.member]: piece.text });
  };

  const take = ({ index, id, name, arguments: piece }: CallPiece): void => {
    calls[index] ??= { id: id ?? "", name: name ?? "", arguments: "", sent: 0, isComplete: objectEnd() };
    calls[index].arguments += piece;
    calls[index].isComplete(piece);
  };
  /** Events that may be sent now: of the open call, and of each call after a complete one. */
  const advance = (): string => {
    let out = "";
    for (;;) {
      const call = calls[current];
      // Behind the end of an object only blanks can follow: its block may be closed.
      if (call !== undefined && call.sent < call.arguments.length && open === "call") {
        out += delta({ type: "input_json_delta", partial_json: call.arguments.slice(call.sent) });
        call.sent = call.arguments.length;
      }
      const next = calls[current + 1];
      if (next === undefined || (call !== undefined && !call.isComplete(""))) return out;
      current++;
      out += start("call", { type: "tool_use", id: next.id, name: next.name, input: {} });
    }
  };

  return {
    begin: () => event("message_start", { message: openMessage(of) }),
    text(content) {
      const call = calls[current];
      held += content;
      if (open === "call" && call !== undefined && !call.isComplete("")) return "";
      const sent = held;
      held = "";
      return text(sent);
    },
    blocks: (pieces) => pieces.map(block).join(""),
    calls(pieces) {
      for (const piece of pieces) take(piece);
      return advance();
    },
    end(response: Response, rest) {
      const native = nativeAnswer(response);
      if (native !== null) {
        const usage = { ...anthropicUsage(response), ...native.usage };
        const { delta: ended, ...more } = native.end;
        const reason = { ...ending(response), ...(isObject(ended) ? ended : {}) };
        return (
          stop() +
          event("message_delta", { ...more, delta: reason, usage, precedent: ownFields(response) }) +
          event("message_stop")
        );
      }
      for (const piece of rest) take(pieceOf(piece));
      const whole = isCut(response) ? calls.slice(0, -1) : calls;
      const broken = whole.find((call) => inputOf(call.arguments) === null);
      if (broken !== undefined) return stop() + event("error", anthropicErrorBody(brokenCall(broken.name)));
      return [
        finishCalls(),
        held === "" ? "" : text(held),
        stop(),
        event("message_delta", {
          delta: ending(response),
          ...{ usage: anthropicUsage(response), precedent: ownFields(response) },
        }),
        event("message_stop"),
      ].join("");
    },
    error: (error: ApiError) => event("error", anthropicErrorBody(error)),
    heartbeat: event("ping"),
  };

  /** Completes calls without arguments at the end of the stream. */
  function finishCalls(): string {
    for (const [index, call] of calls.entries())
      if (call.arguments.trim() === "") take({ ...none, index, arguments: "{}" });
    return advance();
  }
}

const none = { id: null, type: null, name: null };

/** Takes an object's JSON in pieces; returns true once it is complete. Linear. */
function objectEnd(): (piece: string) => boolean {
  let [depth, inString, isEscaped, hasEnded] = [0, false, false, false];
  return (piece) => {
    for (const character of piece) {
      if (isEscaped) isEscaped = false;
      else if (inString) [isEscaped, inString] = [character === "\\", character !== '"'];
      else if (character === '"') inString = true;
      else if (character === "{" || character === "[") depth++;
      else if (character === "}" || character === "]") hasEnded ||= --depth === 0;
    }
    return hasEnded;
  };
}
