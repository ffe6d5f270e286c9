// Tokens as providers report them, on one scale: of the prompt, and of these from a cache. Pure.
import { firstCount, membersOf, type Json } from "./foreign.ts";

export interface ForeignUsage {
  /** null: it is not said. */
  prompt: number | null;
  cached: number | null;
  completion: number | null;
}

/** OpenAI's chat and Responses, Anthropic, DeepSeek; LiteLLM, which mixes them. */
export function usageOf(usage: Json): ForeignUsage {
  const read = firstCount(usage["cache_read_input_tokens"]);
  const cached = firstCount(
    membersOf(usage["prompt_tokens_details"])["cached_tokens"],
    membersOf(usage["input_tokens_details"])["cached_tokens"],
    ...[usage["prompt_cache_hit_tokens"], read],
  );
  const input = firstCount(usage["input_tokens"]);
  // Anthropic counts what its cache read or wrote beside the input.
  const beside = (read ?? 0) + (firstCount(usage["cache_creation_input_tokens"]) ?? 0);
  return {
    prompt: firstCount(usage["prompt_tokens"]) ?? (input === null ? null : input + beside),
    ...{ cached, completion: firstCount(usage["completion_tokens"], usage["output_tokens"]) },
  };
}
