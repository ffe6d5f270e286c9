// A chat completion in chunks, as OpenAI streams it: server-sent events.
import type { BlockPiece, CallPiece, Response, ThoughtPiece } from "../../schemas/types.ts";
import { listOf } from "../../algorithms/text/json-shape.ts";
import { errorBody, type ApiError } from "../errors.ts";
import { completionId, extraOf, openAiReason, ownFields, refusalOf, thoughtsOf, usageOf } from "./response.ts";

export interface ChunksOf {
  requestId: string;
  /** As the client asked for it: which arm answers is known at the end. */
  model: string;
  created: number;
  includeUsage: boolean;
  /** Further answers, sent whole after the first has ended. */
  others?: () => readonly Response[];
}

export interface Chunks {
  /** hasContent: false where calls of tools come first; absent: it is not known yet. */
  begin(hasContent?: boolean): string;
  /** Absent: the format has none. The end says none of the same member. */
  thoughts?(piece: ThoughtPiece): string;
  text(content: string): string;
  /** Pieces of calls of tools; "" where the format has none. */
  calls(pieces: readonly CallPiece[]): string;
  /** Pieces of blocks, in place of text and calls; absent: the format has none. */
  blocks?(pieces: readonly BlockPiece[]): string;
  /** `calls`: what is left of them to send, as chunks have it. */
  end(response: Response, calls: readonly object[]): string;
  error(error: ApiError): string;
  heartbeat: string;
  /** The end says a refusal that was not sent as text; absent: it is text. */
  hasRefusals?: boolean;
}

/** What of the text is left to send before the end. */
export const restText = (response: Response, rest: string, { hasRefusals }: Pick<Chunks, "hasRefusals">): string =>
  hasRefusals === true && rest === refusalOf(response) ? "" : rest;

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

export function createChunks({ requestId, model, created, includeUsage, others }: ChunksOf): Chunks {
  const base = { id: completionId(requestId), object: "chat.completion.chunk", created, model };
  const usage = includeUsage ? { usage: null } : {};
  let thoughtsIn: string | undefined;
  const chunk = (delta: object, finish_reason: string | null, more: object = {}, index = 0): string =>
    event({ ...base, choices: [{ index, delta, logprobs: null, finish_reason }], ...usage, ...more });
  const whole = (response: Response, index: number): string => {
    const content = restText(response, response.text, { hasRefusals: true });
    const thoughts = thoughtsOf(response);
    const delta = {
      ...{ role: "assistant", ...(thoughts !== null && { [thoughts.member]: thoughts.text }) },
      ...(content !== "" && { content }),
    };
    return chunk(delta, null, {}, index) + rest(response, callsIn(response), { index, said: thoughts?.member });
  };
  /** What comes at the end of an answer. */
  const rest = (
    response: Response,
    calls: readonly object[],
    { index, said, more = {} }: { index: number; said: string | undefined; more?: object },
  ): string =>
    [
      ...extraChunks(response, calls, said).map(({ delta, logprobs }) =>
        event({ ...base, choices: [{ index, delta, logprobs, finish_reason: null }], ...usage }),
      ),
      chunk({}, openAiReason(response), more, index),
    ].join("");
  return {
    begin: (hasContent = true): string =>
      chunk({ role: "assistant", content: hasContent ? "" : null, refusal: null }, null),
    thoughts({ member, text }): string {
      thoughtsIn = member;
      return chunk({ [member]: text }, null);
    },
    text: (content: string): string => chunk({ content }, null),
    calls: (pieces) => chunk({ tool_calls: pieces.map(callDelta) }, null),
    end: (response, calls): string =>
      [
        rest(response, calls, { index: 0, said: thoughtsIn, more: { precedent: ownFields(response) } }),
        ...(others?.() ?? []).map((one, index) => whole(one, index + 1)),
        ...(includeUsage ? [event({ ...base, choices: [], usage: usageOf(response) })] : []),
        "data: [DONE]\n\n",
      ].join(""),
    error: (error: ApiError): string => event(errorBody(error)),
    heartbeat: ": waiting\n\n",
    hasRefusals: true,
  };
}

const callsIn = (response: Response): object[] =>
  listOf(extraOf(response).message["tool_calls"]).map((call, index) => ({ index, ...(call as object) }));

/** As OpenAI has it: what is said of a call once, then its arguments alone. */
const callDelta = ({ index, id, type, name, arguments: piece }: CallPiece): object => ({
  index,
  ...(id !== null && { id }),
  ...(type !== null && { type }),
  function: { ...(name !== null && { name }), arguments: piece },
});

/** What is left of the calls of tools, and what comes whole, when the answer is final. */
function extraChunks(
  response: Response,
  calls: readonly object[],
  said: string | undefined,
): { delta: object; logprobs: unknown }[] {
  const { message, logprobs } = extraOf(response);
  const { tool_calls: _sent, ...all } = message;
  const others = Object.fromEntries(Object.entries(all).filter(([name]) => name !== said));
  const delta = { ...others, ...(calls.length > 0 && { tool_calls: calls }) };
  return Object.keys(delta).length === 0 && logprobs === null ? [] : [{ delta, logprobs }];
}
