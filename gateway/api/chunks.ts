// A chat completion in chunks, as OpenAI streams it: server-sent events.
import type { Response } from "../../schemas/types.ts";
import { errorBody, type ApiError } from "../errors.ts";
import { completionId, extraOf, finishReasonOf, ownFields, usageOf } from "./response.ts";

export interface ChunksOf {
  requestId: string;
  /** As the client asked for it: which arm answers is known at the end. */
  model: string;
  /** Seconds since the epoch. */
  created: number;
  includeUsage: boolean;
}

/** What a stream is made of. */
export interface Chunks {
  begin(): string;
  text(content: string): string;
  end(response: Response): string;
  error(error: ApiError): string;
  heartbeat: string;
}

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

export function createChunks({ requestId, model, created, includeUsage }: ChunksOf): Chunks {
  const base = { id: completionId(requestId), object: "chat.completion.chunk", created, model };
  const usage = includeUsage ? { usage: null } : {};
  const chunk = (delta: object, finish_reason: string | null, more: object = {}): string =>
    event({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...usage, ...more });
  return {
    begin: (): string => chunk({ role: "assistant", content: "", refusal: null }, null),
    text: (content: string): string => chunk({ content }, null),
    end: (response: Response): string =>
      [
        ...extraChunks(response).map(({ delta, logprobs }) =>
          event({ ...base, choices: [{ index: 0, delta, logprobs, finish_reason: null }], ...usage }),
        ),
        chunk({}, finishReasonOf(response), { precedent: ownFields(response) }),
        ...(includeUsage ? [event({ ...base, choices: [], usage: usageOf(response) })] : []),
        "data: [DONE]\n\n",
      ].join(""),
    error: (error: ApiError): string => event(errorBody(error)),
    heartbeat: ": waiting\n\n",
  };
}

/** Calls of tools and the like come whole, when the answer is final. */
function extraChunks(response: Response): { delta: object; logprobs: unknown }[] {
  const { message, logprobs } = extraOf(response);
  if (Object.keys(message).length === 0 && logprobs === null) return [];
  const calls = message["tool_calls"];
  const indexed = Array.isArray(calls)
    ? { tool_calls: calls.map((call: unknown, index) => ({ index, ...(call as object) })) }
    : {};
  return [{ delta: { ...message, ...indexed }, logprobs }];
}
