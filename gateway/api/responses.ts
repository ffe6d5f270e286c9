// POST /v1/responses for text, by the rules of a chat completion. What is no text or needs a memory
// is refused by name.
import { z } from "zod";
import type { Response } from "../../schemas/types.ts";
import { badRequest } from "../errors.ts";
import { chatRequest, invalid, type ChatBody } from "./request.ts";
import { openAiReason, ownFields, responseIdPrefix, usageOf } from "./response.ts";

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const item = z.looseObject({
  type: z.literal("message", { error: "must be a message: only text is served here" }).optional(),
  role: z.enum(["system", "developer", "user", "assistant"]),
  content: z.union([z.string(), z.array(part)]),
});
const nothing = z.union([z.null(), z.array(z.unknown()).max(0)]).optional();
const bodySchema = z.object({
  input: z.union([z.string(), z.array(item).min(1)]),
  instructions: z.string().nullish(),
  max_output_tokens: z.number().nullish(),
  stream: z.boolean().nullish(),
});
/** Handed on under the same name. */
const same = [
  "model",
  "temperature",
  "top_p",
  "metadata",
  "user",
  "precedent",
  "safety_identifier",
  "prompt_cache_key",
];
const ours = new Set([...Object.keys(bodySchema.shape), ...same]);

/** Values that say nothing here: as if the parameter were left out. */
const neutral = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    text: (value: unknown) => textFormat.safeParse(value).success,
    tools: (value: unknown) => nothing.safeParse(value).success,
    include: (value: unknown) => nothing.safeParse(value).success,
    tool_choice: (value: unknown) => value === "auto" || value === "none",
    parallel_tool_calls: (value: unknown) => typeof value === "boolean",
    truncation: (value: unknown) => value === "disabled",
    background: (value: unknown) => value === false,
    store: (value: unknown) => value === false,
    service_tier: (value: unknown) => value === "auto" || value === "default",
    top_logprobs: (value: unknown) => value === 0,
    stream_options: (value: unknown) => typeof value === "object",
  }),
);
const textFormat = z.strictObject({ format: z.strictObject({ type: z.literal("text") }).optional() });

/** Throws ApiError. */
export function responsesRequest(body: unknown): ChatBody & { instructions: string | null } {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw badRequest("The body must be a JSON object.");
  const members = body as Record<string, unknown>;
  for (const [name, value] of Object.entries(members))
    if (!ours.has(name) && value !== null && neutral.get(name)?.(value) !== true)
      throw badRequest(
        `The parameter ${name.slice(0, 80)} is not served with this value by /v1/responses, which is for text: leave it out, or use /v1/chat/completions.`,
        name.slice(0, 80),
        "unsupported_parameter",
      );
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const { input, instructions, max_output_tokens, stream } = parsed.data;
  const turns = typeof input === "string" ? [{ role: "user", content: input }] : input.map(turnOf);
  const system = instructions === null || instructions === undefined ? [] : [{ role: "system", content: instructions }];
  const handedOn = same.flatMap((name) => (Object.hasOwn(members, name) ? [[name, members[name]] as const] : []));
  const chat = chatRequest({
    ...Object.fromEntries(handedOn),
    ...{ messages: [...system, ...turns], stream: stream ?? false },
    ...(max_output_tokens === undefined ? {} : { max_completion_tokens: max_output_tokens }),
  });
  return { ...chat, instructions: instructions ?? null };
}

/** Parts of our own answers come back as output_text. */
function turnOf({ role, content }: z.infer<typeof item>, index: number): { role: string; content: string } {
  if (typeof content === "string") return { role, content };
  const texts = content.map(({ type, text }, at) => {
    if ((type === "input_text" || type === "output_text") && text !== undefined) return text;
    const path = `input[${index}].content[${at}]`;
    throw badRequest(
      `${path} of type ${type.slice(0, 40)} is not served: /v1/responses is for text.`,
      path,
      "unsupported_value",
    );
  });
  return { role, content: texts.join("\n") };
}

export interface ResponseOf {
  requestId: string;
  model: string;
  created: number;
  instructions: string | null;
}

/** A response before it is answered, and what all of them have. */
export const openResponse = ({ requestId, model, created, instructions }: ResponseOf) => ({
  ...{ id: responseIdPrefix + requestId, object: "response", created_at: created, status: "in_progress" },
  ...{
    error: null,
    incomplete_details: null,
    instructions,
    model,
    output: [] as object[],
    usage: null as object | null,
  },
  ...{ parallel_tool_calls: true, tool_choice: "auto", tools: [], metadata: {}, temperature: null, top_p: null },
  ...{
    previous_response_id: null,
    max_output_tokens: null,
    truncation: "disabled",
    text: { format: { type: "text" } },
  },
});

export const messageItem = (requestId: string, status: string, content: object[]) => ({
  ...{ id: `msg_${requestId}`, type: "message", status, role: "assistant", content },
});
export const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });

export function finishedResponse(response: Response, of: ResponseOf) {
  const reason = openAiReason(response);
  const cut = reason === "length" ? "max_output_tokens" : reason;
  const isCut = cut === "max_output_tokens" || cut === "content_filter";
  const status = isCut ? "incomplete" : "completed";
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usageOf(response);
  return {
    ...openResponse(of),
    ...{ status, incomplete_details: isCut ? { reason: cut } : null },
    output: [messageItem(of.requestId, status, [textPart(response.text)])],
    usage: {
      ...{ input_tokens: prompt_tokens, output_tokens: completion_tokens, total_tokens },
      ...{ input_tokens_details: prompt_tokens_details, output_tokens_details: { reasoning_tokens: 0 } },
    },
    precedent: ownFields(response),
  };
}
