// POST /v1/completions, OpenAI's legacy API: the prompt is a user message, the text the answer.
import type { Response } from "../../schemas/types.ts";
import { rawMembers } from "../../algorithms/text/exact-json.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { badRequest, errorBody } from "../errors.ts";
import type { Chunks, ChunksOf } from "./chunks.ts";
import { unservedMember, type ChatBody, type Served } from "./request.ts";
import { openAiReason, ownFields, textIdPrefix, usageOf } from "./response.ts";
import { copied, translatedRequest } from "./translated.ts";

/** Values without effect: treated as absent. */
const neutral = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    echo: (value: unknown) => value === false,
    suffix: (value: unknown) => value === "",
    best_of: (value: unknown) => value === 1,
  }),
);
const refused = new Set(["messages", "logprobs", "top_logprobs", "tools", "functions", "response_format"]);

/** text: the unparsed body, for members to pass through as they are written. Throws ApiError. */
export function completionRequest(body: unknown, served: Served, text = JSON.stringify(body)): ChatBody {
  if (!isObject(body)) throw badRequest("The body must be a JSON object.");
  const { prompt, ...others } = body;
  const members: string[] = [];
  for (const [name, value] of Object.entries(others)) {
    if (value === null || neutral.get(name)?.(value) === true) continue;
    if (neutral.has(name) || refused.has(name)) throw unservedMember(name);
    members.push(name);
  }
  const texts: readonly unknown[] = Array.isArray(prompt) ? prompt : [prompt];
  const [content] = texts;
  if (texts.length !== 1 || typeof content !== "string")
    throw badRequest("prompt must be one text: lists of texts and tokens are not served.", "prompt");
  const chat = { ...copied(rawMembers(text), members), messages: [{ role: "user", content }] };
  return translatedRequest({ chat, origins: ["prompt"], names: {} }, served);
}

const completionId = (requestId: string): string => textIdPrefix + requestId;
const choice = (text: string, index: number, finish_reason: string | null) => ({
  ...{ text, index, logprobs: null, finish_reason },
});

export const textCompletion = (
  response: Response,
  { model, created }: { model: string; created: number },
  others: readonly Response[] = [],
) => ({
  ...{ id: completionId(response.requestId), object: "text_completion", created, model },
  choices: [response, ...others].map((one, index) => choice(one.text, index, openAiReason(one))),
  ...{ usage: usageOf(response), precedent: ownFields(response) },
});

export function createTextChunks({ requestId, model, created, includeUsage, others }: ChunksOf): Chunks {
  const base = { id: completionId(requestId), object: "text_completion", created, model };
  const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
  const chunk = (text: string, reason: string | null = null, index = 0, more: object = {}): string =>
    event({ ...base, choices: [choice(text, index, reason)], ...(includeUsage && { usage: null }), ...more });
  return {
    begin: () => "",
    text: (content) => chunk(content),
    calls: () => "",
    end: (response) =>
      [
        chunk("", openAiReason(response), 0, { precedent: ownFields(response) }),
        ...(others?.() ?? []).map((one, index) => chunk(one.text, openAiReason(one), index + 1)),
        ...(includeUsage ? [event({ ...base, choices: [], usage: usageOf(response) })] : []),
        "data: [DONE]\n\n",
      ].join(""),
    error: (error) => event(errorBody(error)),
    heartbeat: ": waiting\n\n",
  };
}
