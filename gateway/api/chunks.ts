// A chat completion in chunks, as OpenAI streams it: server-sent events.
import type { Response } from "../../schemas/types.ts";
import { errorBody, type ApiError } from "../errors.ts";
import { completionId, finishReasonOf, ownFields, usageOf } from "./response.ts";

export interface ChunksOf {
  requestId: string;
  /** As the client asked for it: which arm answers is known at the end. */
  model: string;
  /** Seconds since the epoch. */
  created: number;
  includeUsage: boolean;
}

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

export function createChunks({ requestId, model, created, includeUsage }: ChunksOf) {
  const base = { id: completionId(requestId), object: "chat.completion.chunk", created, model };
  const usage = includeUsage ? { usage: null } : {};
  const chunk = (delta: object, finish_reason: string | null, more: object = {}): string =>
    event({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...usage, ...more });
  return {
    begin: (): string => chunk({ role: "assistant", content: "", refusal: null }, null),
    text: (content: string): string => chunk({ content }, null),
    end: (response: Response): string =>
      [
        chunk({}, finishReasonOf(response), { precedent: ownFields(response) }),
        ...(includeUsage ? [event({ ...base, choices: [], usage: usageOf(response) })] : []),
        "data: [DONE]\n\n",
      ].join(""),
    error: (error: ApiError): string => event(errorBody(error)),
    heartbeat: ": waiting\n\n",
  };
}
