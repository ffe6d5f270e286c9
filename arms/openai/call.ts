// One chat completion call, streamed or not. It resolves with a complete answer or throws; an
// answer that lacks its end is never returned.
import type OpenAI from "openai";
import type { Dispatcher } from "undici";
import { longestAnswer, type Answer, type AnswerOptions, type Completion, type OnPiece } from "./answer.ts";
import { type Bytes, partsOf, textOf } from "../../connections/http/bodies.ts";
import { mostBytes } from "./bounded-fetch.ts";
import { NotACompletion } from "./errors.ts";
import { readStream } from "./stream.ts";

export interface CallOptions {
  signal: AbortSignal;
  timeout: number;
  /** Besides those of the client. */
  headers?: Record<string, string>;
  extra: boolean;
  /** Called with the head of an answer: what there is of it so far. */
  onBegin?: (soFar: () => Completion) => void;
}

export interface CallTarget {
  url: string;
  /** Reads the answer. */
  open: (options: AnswerOptions) => Answer;
  dispatcher?: Dispatcher | undefined;
  stream: boolean;
}

/** Throws what the client throws, CutShort, BrokenCall or NotACompletion; rejects when aborted. */
export async function callOnce(
  client: OpenAI,
  { url, open, dispatcher, stream }: CallTarget,
  body: string,
  { extra, headers, onBegin, ...options }: CallOptions,
  onPiece?: OnPiece,
): Promise<Completion> {
  const left = new AbortController();
  const signal = AbortSignal.any([options.signal, left.signal]);
  const through = dispatcher === undefined ? {} : { fetchOptions: { dispatcher } as object };
  const sent = { ...options, ...through, signal, body, headers: { ...headers, "content-type": "application/json" } };
  const answered = await client.post(url, sent).asResponse();
  const of = { extra, headers: answered.headers, onPiece };
  let begun: Answer | undefined;
  onBegin?.(() => (begun ?? open({ ...of, isWhole: false })).soFar());
  const { bytes, isWhole } = await framed(answered, stream);
  const answer = (begun = open({ ...of, isWhole }));
  let isDone = isWhole;
  if (isWhole) {
    const text = (await textOf(bytes, mostBytes.answer)).replace(/^\ufeff/, "");
    answer.take(JSON.parse(text), text);
  } else
    try {
      isDone = await readStream(bytes, longestAnswer, answer.take, () => left.abort());
    } catch (error) {
      // Whole but for its usage: the text is complete once the finish reason stands.
      if (!answer.isEnded() || options.signal.aborted || error instanceof NotACompletion) throw error;
    }
  // A connection that closes ends the stream without a word.
  options.signal.throwIfAborted();
  return answer.complete(isDone);
}

/** The body, and what it is: as it begins, or else as the endpoint says. */
async function framed({ headers, body }: Response, wanted: boolean): Promise<{ bytes: Bytes; isWhole: boolean }> {
  const parts = partsOf(body);
  const held: Uint8Array[] = [];
  let [begin, count] = ["", 0];
  while (begin.length < "event:".length && count < mostBytes.error) {
    const next = await parts.next();
    if (next.done === true) break;
    held.push(next.value);
    count += next.value.length;
    begin = (begin + Buffer.from(next.value).toString("latin1")).replace(/^(\xef\xbb\xbf)?\s*/, "").slice(0, 16);
  }
  async function* all(): Bytes {
    try {
      yield* held;
      yield* parts;
    } finally {
      // Who leaves within the beginning leaves the call, too.
      await parts.return(undefined);
    }
  }
  const type = (headers.get("content-type") ?? "").toLowerCase();
  const isStreamType = type.includes("event-stream") || (wanted && !/\bjson\b/.test(type));
  const isEvents = /^(data|event|id|retry)?:/.test(begin) || (isStreamType && !begin.startsWith("{"));
  return { bytes: all(), isWhole: !isEvents };
}
