// An answer as it comes, whole or in pieces, until it is complete.
import { APIError } from "openai";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { thoughtIn } from "../../algorithms/text/thoughts.ts";
import { wellFormedPieces } from "../../algorithms/text/well-formed.ts";
import type { BlockPiece, CallPiece, ThoughtPiece } from "../../schemas/types.ts";
import { createPartReader, type Choice } from "./completion.ts";
import { createCounts, writtenTokens, type Counted } from "./counts.ts";
import { CutShort, NotACompletion } from "./errors.ts";
import { writeArguments } from "./exact-arguments.ts";
import { createExtra } from "./extra.ts";
import { laterReason, type FinishReason } from "../../algorithms/text/finish-reason.ts";
import { createToolCalls } from "./tool-calls.ts";

export interface Completion {
  text: string;
  /** JSON of the message's members besides its text; null: none, or not requested. */
  extra: string | null;
  finishReason: FinishReason;
  /** The stop string that ended it, as the endpoint says; null: it says none. */
  stop: string | null;
  model: string | null;
  /** Tokens; `prompt`: an estimate for where the endpoint reports none. */
  usage(prompt: () => number): Counted;
  /** performance.now() at the first text; null when not streamed. */
  firstTokenAt: number | null;
}

/** A piece of the text, "" for none, of calls of tools, of Anthropic's blocks, and of thoughts. */
export type OnPiece = (
  text: string,
  calls: readonly CallPiece[],
  blocks?: readonly BlockPiece[],
  thoughts?: ThoughtPiece,
) => void;

export interface Answer {
  /** text: its JSON, if any; the value may be changed. Throws APIError, NotACompletion. */
  take(value: unknown, text?: string): void;
  /** It has said why it ended, in words that are known. */
  isEnded(): boolean;
  /** isDone: the endpoint sent all. Throws CutShort (no end), NotACompletion, BrokenCall. */
  complete(isDone: boolean): Completion;
  /** What there is of one that may never be complete: what it took is charged. */
  soFar(): Completion;
}

// No model writes this much; an endpoint that does would fill the memory.
export const longestAnswer = 8 * 1_048_576;

export interface AnswerOptions {
  /** A body rather than pieces. */
  isWhole: boolean;
  /** Read what the message has besides its text, too. */
  extra: boolean;
  headers: Headers;
  onPiece?: OnPiece | undefined;
}

export function createAnswer({ isWhole, extra, headers, onPiece }: AnswerOptions): Answer {
  const counts = createCounts();
  const reader = createPartReader(counts, isWhole, headers);
  const [rest, calls, pass] = [createExtra(), createToolCalls(), wellFormedPieces()];
  const passThought = wellFormedPieces();
  /** The member that thoughts come in: some endpoints say them in two. */
  let thoughtsIn: string | null = null;
  /** The call of a function as it was before tools: one, without an id. */
  const legacy = createToolCalls();
  let [text, reasoning] = ["", ""];
  let reason: FinishReason | null = null;
  let model: string | null = null;
  let stop: string | null = null;
  let firstTokenAt: number | null = null;
  let hasMessage = false;
  /** A refusal in pieces goes out with the whole answer, which says that it is one. */
  let isHeld = false;

  const takeChoice = (choice: Choice): void => {
    const { message, finishReason } = choice;
    if (finishReason === "error") throw new APIError(undefined, { code: "error" }, undefined, headers);
    reason = laterReason(reason, finishReason);
    stop = choice.stop ?? stop;
    // Gemini leaves the message out where its filter stopped it.
    hasMessage ||= message !== null || finishReason === "content_filter";
    text += choice.text;
    reasoning += choice.reasoning;
    const pieces = calls.add(message?.["tool_calls"], isWhole);
    const ready = pass(choice.text);
    if (ready !== "" && !isWhole) firstTokenAt ??= performance.now();
    const streamed = extra && !isWhole ? pieces : [];
    isHeld ||= extra && choice.refusal !== "" && choice.refusal === choice.text;
    const sent = isHeld ? "" : ready;
    const thought = extra && !isWhole ? thoughtOf(choice) : null;
    thoughtsIn ??= thought?.member ?? null;
    const member = thoughtsIn ?? "";
    const begun = thought?.member === member ? passThought(thought.text) : "";
    if (begun !== "") onPiece?.(sent, streamed, [], { member, text: begun });
    else if (sent !== "" || streamed.length > 0) onPiece?.(sent, streamed);
    const called = message?.["function_call"];
    if (isObject(called) && Object.keys(called).length > 0) legacy.add([{ index: 0, function: called }], isWhole);
    const refusal = choice.refusal === "" ? null : choice.refusal;
    if (extra) rest.add({ ...message, refusal, function_call: null, ...thoughts(choice) }, choice.logprobs);
    if (text.length + reasoning.length + calls.length() + legacy.length() + rest.length() > longestAnswer)
      throw new NotACompletion("it is too long");
  };

  const soFar = (): Completion => ({
    ...{ text: text.toWellFormed(), extra: null, finishReason: "unknown", stop, model, firstTokenAt },
    usage: (prompt) =>
      counts.result({ prompt, written: () => writtenTokens([text, reasoning, ...legacy.texts(), ...calls.texts()]) }),
  });

  const isEnded = (): boolean => reason !== null && reason !== "unknown";

  return {
    take(value, text = "") {
      if (text !== "") writeArguments(value, text);
      for (const part of reader.read(value)) {
        model = part.model ?? model;
        for (const choice of part.choices) takeChoice(choice);
      }
    },
    isEnded,
    complete(isDone) {
      if (!hasMessage) throw new NotACompletion();
      if (!isWhole && !isEnded() && (reason === null || !isDone)) throw new CutShort();
      const isCut = reason === "length" || reason === "content_filter";
      const listed = calls.whole(isCut);
      const [called, second] = legacy.whole(isCut);
      if (second !== undefined) throw new NotACompletion("two calls of functions in one");
      if (extra && called !== undefined) rest.add({ function_call: called["function"] }, null);
      const last = pass("", true);
      if (last !== "" && !isHeld) onPiece?.(last, []);
      const of = reason ?? "unknown";
      return {
        ...soFar(),
        extra: extra ? rest.json(listed) : null,
        // Only who calls functions as they were before tools is told so.
        finishReason: of === "function_call" && legacy.length() === 0 ? "tool_calls" : of,
      };
    },
    soFar,
  };
}

/** Thoughts among parts of the content are kept where others have theirs. */
const thoughts = ({ message, reasoning }: Choice): Record<string, unknown> =>
  typeof message?.["content"] === "object" && reasoning !== "" ? { reasoning_content: reasoning } : {};

function thoughtOf({ message, reasoning }: Choice): ThoughtPiece | null {
  const isPart = typeof message?.["content"] === "object" && reasoning !== "";
  return thoughtIn(message ?? {}) ?? (isPart ? { member: "reasoning_content", text: reasoning } : null);
}
