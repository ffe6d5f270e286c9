// POST /v1/embeddings in OpenAI's format: the texts that a body asks for, and their vectors as
// numbers or base64 (which OpenAI's own client asks for).
import { z } from "zod";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { badRequest, unknownModel } from "../errors.ts";
import { invalid } from "./request.ts";

const mostTexts = 256;
/** The model reads the beginning of a text that is longer than its context. */
const longestText = 32_768;
const text = z.string().min(1).max(longestText);
const bodySchema = z.strictObject({
  input: z.union([text, z.array(text).min(1).max(mostTexts)], {
    error: `must be a text, or 1 to ${mostTexts} texts, of 1 to ${longestText} characters each; tokens are not served`,
  }),
  model: z.string().min(1).max(256),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().int().nullish(),
  user: z.string().nullish(),
});

export interface EmbeddingsBody {
  texts: string[];
  base64: boolean;
}

/** Throws ApiError. */
export function embeddingsRequest(
  body: unknown,
  { model, dimension }: { model: string; dimension: number },
): EmbeddingsBody {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const { input, model: wanted, encoding_format, dimensions } = parsed.data;
  if (wanted !== model && wanted !== "auto")
    throw unknownModel(`There is no embedding model ${wanted.slice(0, 80)}; there is ${model}, or auto.`);
  if (dimensions !== null && dimensions !== undefined && dimensions !== dimension)
    throw badRequest(
      `Vectors of ${model} have ${dimension} dimensions: leave it out.`,
      "dimensions",
      "unsupported_value",
    );
  return { texts: typeof input === "string" ? [input] : input, base64: encoding_format === "base64" };
}

/** What they count for: an estimate. */
export const embeddedTokens = ({ texts }: Pick<EmbeddingsBody, "texts">): number =>
  texts.reduce((sum, one) => sum + estimateTokens(one), 0);

export function embeddingList(vectors: readonly Float32Array[], { texts, base64 }: EmbeddingsBody, model: string) {
  const tokens = embeddedTokens({ texts });
  return {
    object: "list",
    data: vectors.map((vector, index) => ({
      ...{ object: "embedding", index },
      embedding: base64 ? base64Of(vector) : [...vector],
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Little endian, as every machine that runs this has it. */
const base64Of = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");
