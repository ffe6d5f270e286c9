// What is read of an answer, whole or a piece of a stream.
import { z } from "zod";
import { NotACompletion } from "./errors.ts";

// Endpoints that call themselves compatible leave out the rest.
const count = z.number().int().min(0).max(1_000_000_000);
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish(),
});
const reported = z.looseObject({ content: z.string().nullish(), refusal: z.string().nullish() });
const partSchema = z.object({
  model: z.string().nullish(),
  usage: usageSchema.nullish().catch(null),
  choices: z.array(
    z.object({
      message: reported.optional(),
      delta: reported.nullish(),
      finish_reason: z.string().nullish(),
      logprobs: z.looseObject({}).nullish().catch(null),
    }),
  ),
});

export type CompletionPart = z.infer<typeof partSchema>;

/** An HTTP proxy's error page arrives here too, whatever the client's types say. */
export function parsed(value: unknown): CompletionPart {
  const result = partSchema.safeParse(value);
  if (!result.success) throw new NotACompletion();
  return result.data;
}

/** The same of a piece of a stream, without the schema for pieces of text. */
export const parsedPiece = (value: unknown): CompletionPart => (isText(value) ? value : parsed(value));

function isText(value: unknown): value is CompletionPart {
  if (!isObject(value) || !Array.isArray(value["choices"]) || value["choices"].length !== 1) return false;
  const choice = value["choices"][0] as unknown;
  if (!isObject(choice) || !isObject(choice["delta"])) return false;
  const { delta } = choice;
  return (
    (value["usage"] ?? null) === null &&
    (choice["logprobs"] ?? null) === null &&
    choice["message"] === undefined &&
    [value["model"], delta["content"], delta["refusal"], choice["finish_reason"]].every(isWord)
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isWord = (value: unknown): boolean => (value ?? null) === null || typeof value === "string";
