// One chat completion call, streamed or not. It resolves with a complete answer or throws; an
// answer that lacks its end is never returned.
import type OpenAI from "openai";
import type { ChatCompletionCreateParamsBase, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { withoutTemplateMarkers } from "../../algorithms/text/template-markers.ts";
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { CallPiece, Piece } from "../../schemas/types.ts";
import type { ArmRequest } from "../arm.ts";
import { chatMessages, type ChatMessage } from "../messages.ts";
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
  /** Called when an answer begins, with what there is of it so far. */
  onBegin?: (soFar: () => Completion) => void;
}

/** A piece of the text, "" for none, and pieces of calls of tools. */
type OnPiece = (text: string, calls: readonly CallPiece[]) => void;

type Body = Omit<ChatCompletionCreateParamsBase, "stream" | "stream_options">;

// No model writes this much; an endpoint that does would fill the memory.
const longestAnswer = 8 * 1_048_576;

export function completionBody(config: OpenAiArmConfig, request: ArmRequest): Body {
  const { params, pieces, passthrough } = request;
  const stop = params.stop.length > 0 ? params.stop : config.stop;
  const { messages, ...members } = passthrough === undefined ? {} : membersOf(passthrough);
  return {
    ...members,
    model: config.model,
    messages: messages === undefined ? chatMessages(pieces.map(inert)).map(messageParam) : withSystem(messages, pieces),
    [config.maxTokensField]: params.maxTokens ?? config.maxTokens,
    ...(params.temperature === null ? {} : { temperature: params.temperature }),
    ...(params.topP === null ? {} : { top_p: params.topP }),
    ...(params.seed === null ? {} : { seed: params.seed }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

/**
 * What others wrote must not pass for the markers of the endpoint's chat template. What the client
 * wrote goes out as it is.
 */
const inert = (piece: Piece): Piece =>
  piece.kind === "example" || piece.kind === "document"
    ? { ...piece, text: withoutTemplateMarkers(piece.text) }
    : piece;

type Messages = ChatCompletionMessageParam[];

/** plan has seen that it can be read. */
const membersOf = (passthrough: string) => JSON.parse(passthrough) as { messages?: Messages };

/** As they are, behind the arm's own system prompt where they have none. */
function withSystem(messages: Messages, pieces: ArmRequest["pieces"]): Messages {
  const first = messages[0]?.role;
  if (first === "system" || first === "developer") return messages;
  const systems = pieces.filter(({ kind }) => kind === "system");
  return [...chatMessages(systems).map(messageParam), ...messages];
}

/** Throws what the client throws, CutShort or NotACompletion; rejects promptly when aborted. */
export async function callOnce(
  client: OpenAI,
  body: Body,
  options: CallOptions & { stream: boolean },
  onPiece?: OnPiece,
): Promise<Completion> {
  const { stream, extra, onBegin, ...sent } = options;
  if (stream) return streamed(client, body, { ...sent, extra, ...(onBegin && { onBegin }) }, onPiece);
  const response = await client.chat.completions.create({ ...body, stream: false }, sent).asResponse();
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
    model: completion.model ?? body.model,
    usage: completion.usage ?? null,
    firstTokenAt: null,
  };
}

async function streamed(
  client: OpenAI,
  body: Body,
  { extra, onBegin, ...options }: CallOptions,
  onPiece?: OnPiece,
): Promise<Completion> {
  const response = await client.chat.completions
    .create({ ...body, stream: true, stream_options: { include_usage: true } }, options)
    .asResponse();
  const rest = createExtra();
  const callPieces = createCallPieces();
  const answer: Completion = {
    text: "",
    extra: null,
    finishReason: "",
    model: body.model,
    usage: null,
    firstTokenAt: null,
  };
  onBegin?.(() => ({ ...answer, extra: rest.json() }));
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
    if (answer.finishReason === "" || options.signal.aborted) throw error;
  }
  // A connection that closes ends the stream without a word.
  options.signal.throwIfAborted();
  if (answer.finishReason === "") throw chunks === 0 ? new NotACompletion() : new CutShort();
  return { ...answer, extra: rest.json() };
}

/** A tool's result can't be tied to a call here, so it speaks as the user. */
function messageParam({ role, content }: ChatMessage): ChatCompletionMessageParam {
  return { role: role === "tool" ? "user" : role, content };
}
