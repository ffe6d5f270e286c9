import { describe, expect, it } from "vitest";
import { createCounts } from "./counts.ts";

/** What 7 estimated tokens of the prompt and 3 of what was written stand in for. */
function counted(...reports: unknown[]) {
  const counts = createCounts();
  for (const report of reports) counts.add(report);
  const { prompt, completion, cached, estimated } = counts.result({ prompt: () => 7, written: () => 3 });
  return [prompt, completion, cached, estimated];
}
const usage = (prompt_tokens: unknown, completion_tokens: unknown, more: object = {}) => ({
  prompt_tokens,
  completion_tokens,
  ...more,
});

describe("tokens are", () => {
  it.each([
    ["as reported", [usage(10, 5)], [10, 5, 0, false]],
    ["read from text and parts of a token", [usage("10", " 4.2 ")], [10, 5, 0, false]],
    ["those before a report of zeros", [usage(10, 5), usage(0, 0)], [10, 5, 0, false]],
    ["those behind one", [usage(0, 0), null, usage(10, 5), undefined, "usage", []], [10, 5, 0, false]],
    ["the last of those that grow, in any order", [usage(10, 1), usage(10, 5), usage(10, 3)], [10, 5, 0, false]],
    ["put together from several", [{ input_tokens: 10 }, { output_tokens: 5 }], [10, 5, 0, false]],
    [
      "Anthropic's, whose caches are beside",
      [{ input_tokens: 2, output_tokens: 5, cache_read_input_tokens: 8 }],
      [10, 5, 8, false],
    ],
    [
      "Anthropic's beside OpenAI's names without a count",
      [
        usage(null, 5, { input_tokens: 2, cache_read_input_tokens: 800 }),
        usage(0, 5, { input_tokens: 2, cache_read_input_tokens: 800 }),
      ],
      [802, 5, 800, false],
    ],
    [
      "at least those that were cached",
      [usage(null, 5, { prompt_tokens_details: { cached_tokens: 1_000 } })],
      [1_000, 5, 1_000, true],
    ],
    [
      "Gemini's",
      [{ promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 4, totalTokenCount: 19 }],
      [10, 9, 0, false],
    ],
    ["the total without the prompt", [{ prompt_tokens: 10, total_tokens: 15 }], [10, 5, 0, false]],
    ["the total without the completion", [usage(null, 5, { total_tokens: 15 })], [10, 5, 0, false]],
    ["of the total, what an estimate leaves", [{ total_tokens: 15 }], [12, 3, 0, true]],
    ["estimated where both are missing", [{}], [7, 3, 0, true]],
    ["estimated where none is reported", [], [7, 3, 0, true]],
    ["estimated where one is missing", [usage(10, null)], [10, 3, 0, true]],
    ["estimated where the prompt is missing", [usage(0, 5)], [7, 5, 0, true]],
    ["estimated where zero can't be right", [usage(10, 0)], [10, 3, 0, true]],
    ["estimated where they are incredible", [usage(-1, 2e15)], [7, 3, 0, true]],
    ["estimated where they are no numbers", [usage("many", [5]), usage({}, true), usage("", "1e999")], [7, 3, 0, true]],
    [
      "with reasoning once, where it is within",
      [usage(10, 9, { total_tokens: 19, completion_tokens_details: { reasoning_tokens: 4 } })],
      [10, 9, 0, false],
    ],
    [
      "with reasoning that comes on top",
      [usage(10, 5, { total_tokens: 19, completion_tokens_details: { reasoning_tokens: 4 } })],
      [10, 9, 0, false],
    ],
    ["with reasoning that only the total knows", [usage(10, 5, { total_tokens: 19 })], [10, 9, 0, false]],
    [
      "with reasoning that is more than the completion",
      [usage(10, 5, { output_tokens_details: { reasoning_tokens: 40 } })],
      [10, 45, 0, false],
    ],
    ["with reasoning beside an estimate", [usage(10, null, { reasoning_tokens: 40 })], [10, 43, 0, true]],
    ["cached by any name", [usage(10, 5, { prompt_cache_hit_tokens: 8 })], [10, 5, 8, false]],
    [
      "cached as the details say, never more than the prompt",
      [usage(10, 5, { prompt_tokens_details: { cached_tokens: 80 } })],
      [10, 5, 10, false],
    ],
  ] as const)("%s", (_how, reports, expected) => {
    expect(counted(...reports)).toEqual(expected);
  });

  it("none where nothing was written and zero is reported", () => {
    const counts = createCounts();
    counts.add(usage(10, 0));
    expect(counts.result({ prompt: () => 7, written: () => 0 })).toEqual({
      ...{ prompt: 10, completion: 0, cached: 0, estimated: false },
    });
  });
});
