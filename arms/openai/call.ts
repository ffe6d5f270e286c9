// One chat completion call, streamed or not. It resolves with a complete answer or throws; an
// answer that lacks its end is never returned.
import type OpenAI from "openai";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import { createAnswer, longestAnswer, type Completion, type OnPiece } from "./answer.ts";
import { completionsUrl } from "./body.ts";
import { mostBytes, textOf } from "./bounded-fetch.ts";
import { NotACompletion } from "./errors.ts";
import { readStream } from "./stream.ts";

export interface CallOptions {
  signal: AbortSignal;
  timeout: number;
  /** Besides those of the client. */
  headers?: Record<string, string>;
  extra: boolean;
}

/** Throws what the client throws, CutShort, BrokenCall or NotACompletion; rejects when aborted. */
export async function callOnce(
  client: OpenAI,
  { baseUrl, stream }: Pick<OpenAiArmConfig, "baseUrl" | "stream">,
  body: string,
  { extra, headers, ...options }: CallOptions,
  onPiece?: OnPiece,
): Promise<Completion> {
  const sent = { ...options, body, headers: { ...headers, "content-type": "application/json" } };
  const response = await client.post(completionsUrl(baseUrl), sent).asResponse();
  const isWhole = !isStreamed(response, stream);
  const answer = createAnswer({ isWhole, extra, headers: response.headers, onPiece });
  if (isWhole) answer.take(JSON.parse(await textOf(response, mostBytes.answer)));
  else
    try {
      await readStream(response, longestAnswer, answer.take);
    } catch (error) {
      // Whole but for its usage: the text is complete once the finish reason stands.
      if (!answer.isEnded() || options.signal.aborted || error instanceof NotACompletion) throw error;
    }
  // A connection that closes ends the stream without a word.
  options.signal.throwIfAborted();
  return answer.complete();
}

/** As the endpoint says; some answer with what they were not asked for. */
function isStreamed({ headers }: Response, wanted: boolean): boolean {
  const type = headers.get("content-type") ?? "";
  return type.includes("event-stream") || (wanted && !/\bjson\b/.test(type));
}
