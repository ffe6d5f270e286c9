import { expect, it } from "vitest";
import { usageOf } from "./usage.ts";

it.each([
  ["OpenAI", { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 60 } }],
  ["Responses", { input_tokens: 100, output_tokens: 7, input_tokens_details: { cached_tokens: 60 } }],
  ["Anthropic", { input_tokens: 30, output_tokens: 7, cache_read_input_tokens: 60, cache_creation_input_tokens: 10 }],
  ["DeepSeek", { prompt_tokens: 100, completion_tokens: 7, prompt_cache_hit_tokens: 60 }],
  ["LiteLLM", { prompt_tokens: 100, completion_tokens: 7, cache_read_input_tokens: 60 }],
])("counts the cached tokens of %s among those of the prompt", (_name, usage) => {
  expect(usageOf(usage)).toEqual({ prompt: 100, cached: 60, completion: 7 });
});

it("says nothing where nothing is said", () => {
  expect(usageOf({ input_tokens: -1, completion_tokens: null })).toEqual({
    prompt: null,
    cached: null,
    completion: null,
  });
});
