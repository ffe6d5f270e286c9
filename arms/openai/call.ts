// One chat completion call, streamed or not. It resolves with a complete answer or throws; an
// answer that lacks its end is never returned.
import type OpenAI from "openai";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { CallPiece } from "../../schemas/types.ts";
import { completionsUrl } from "./body.ts";
import { mostBytes, textOf } from "./bounded-fetch.ts";
import { createCallPieces } from "./call-pieces.ts";
import { CutShort, NotACompletion } from "./errors.ts";
import { createExtra } from "./extra.ts";
import { parsed, type CompletionPart } from "./completion.ts";
import { readStream } from "./stream.ts";

export interface Completion {
  text: string;
  /** JSON of the message's members besides its text; null: none, or not requested. */
  extra: string | null;
  finishReason: string;
  model: string;
  /** As the endpoint counts; null when it doesn't. */
  usage: NonNullable<CompletionPart["usage"]> | null;
  /** performance.now() at the first text; null when not streamed. */
  firstTokenAt: number | null;
}

export interface CallOptions {
  signal: AbortSignal;
  timeout: number;
  /** Besides those of the client. */
  headers?: Record<string, string>;
  extra: boolean;
}

/** A piece of the text, "" for none, and pieces of calls of tools. */
type OnPiece = (text: string, calls: readonly CallPiece[]) => void;

// No model writes this much; an endpoint that does would fill the memory.
const longestAnswer = 8 * 1_048_576;

/** Throws what the client throws, CutShort or NotACompletion; rejects promptly when aborted. */
export async function callOnce(
  client: OpenAI,
  { baseUrl, model, stream }: Pick<OpenAiArmConfig, "baseUrl" | "model" | "stream">,
  body: string,
  { extra, headers, ...options }: CallOptions,
  onPiece?: OnPiece,
): Promise<Completion> {
  const sent = { ...options, body, headers: { ...headers, "content-type": "application/json" } };
  const response = await client.post(completionsUrl(baseUrl), sent).asResponse();
  if (stream) return streamed(response, model, { extra, ...options }, onPiece);
  const completion = parsed(JSON.parse(await textOf(response, mostBytes.answer)));
  const choice = completion.choices[0];
  if (choice?.message === undefined) throw new NotACompletion();
  const text = choice.message.content ?? choice.message.refusal ?? "";
  onPiece?.(text, []);
  const rest = createExtra();
  if (extra) rest.add(choice.message, choice.logprobs ?? null);
  return {
    text,
    extra: rest.json(),
    finishReason: choice.finish_reason ?? "stop",
    model: completion.model ?? model,
    usage: completion.usage ?? null,
    firstTokenAt: null,
  };
}

async function streamed(
  response: Response,
  model: string,
  { extra, signal }: CallOptions,
  onPiece?: OnPiece,
): Promise<Completion> {
  const rest = createExtra();
  const callPieces = createCallPieces();
  const answer: Completion = {
    text: "",
    extra: null,
    finishReason: "",
    model,
    usage: null,
    firstTokenAt: null,
  };
  let chunks = 0;
  const onChunk = (chunk: CompletionPart): void => {
    chunks += 1;
    answer.model = chunk.model ?? answer.model;
    answer.usage = chunk.usage ?? answer.usage;
    const choice = chunk.choices[0];
    const text = choice?.delta?.content ?? choice?.delta?.refusal ?? "";
    if (text !== "") {
      answer.firstTokenAt ??= performance.now();
      answer.text += text;
    }
    const calls = extra ? callPieces(choice?.delta?.["tool_calls"]) : [];
    if (text !== "" || calls.length > 0) onPiece?.(text, calls);
    if (extra && choice !== undefined) rest.add(choice.delta ?? {}, choice.logprobs ?? null);
    answer.finishReason = choice?.finish_reason ?? answer.finishReason;
    if (answer.text.length + rest.length() > longestAnswer) throw new NotACompletion();
  };
  try {
    await readStream(response, longestAnswer, onChunk);
  } catch (error) {
    // Whole but for its usage: the text is complete once the finish reason stands.
    if (answer.finishReason === "" || signal.aborted) throw error;
  }
  // A connection that closes ends the stream without a word.
  signal.throwIfAborted();
  if (answer.finishReason === "") throw chunks === 0 ? new NotACompletion() : new CutShort();
  return { ...answer, extra: rest.json() };
}
