import { describe, expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
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
      ...{ prompt: 10, completion: 0, cached: 0, cacheWrite: 0, reasoning: 0, estimated: false },
    });
  });
});

describe("details are", () => {
  const detailed = (...reports: unknown[]) => {
    const counts = createCounts();
    for (const report of reports) counts.add(report);
    return counts.result({ prompt: () => 7, written: () => 3 });
  };
  it.each<[string, unknown[], object]>([
    [
      "what Anthropic wrote to its cache, beside input_tokens",
      [{ input_tokens: 2, output_tokens: 5, cache_read_input_tokens: 8, cache_creation_input_tokens: 90 }],
      { prompt: 100, cached: 8, cacheWrite: 90 },
    ],
    [
      "the same by its time to live alone",
      [
        { input_tokens: 2, cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 30 } },
        { output_tokens: 5 },
      ],
      { prompt: 92, cacheWrite: 90, hourWrite: 30, completion: 5 },
    ],
    [
      "a prompt that was cached whole",
      [{ input_tokens: 0, output_tokens: 5, cache_read_input_tokens: 80 }],
      { prompt: 80, cached: 80, estimated: false },
    ],
    [
      "Anthropic's thoughts within the completion",
      [{ input_tokens: 3, output_tokens: 50, output_tokens_details: { thinking_tokens: 40 } }],
      { prompt: 3, completion: 50, reasoning: 40 },
    ],
    [
      "of all iterations, where Anthropic summarised the conversation first",
      [
        { input_tokens: 23_000, output_tokens: 1, iterations: null },
        {
          ...{ input_tokens: 23_000, output_tokens: 1_000 },
          iterations: [
            { type: "compaction", input_tokens: 180_000, output_tokens: 3_500, cache_read_input_tokens: 7 },
            { type: "message", input_tokens: 23_000, output_tokens: 1_000 },
          ],
        },
      ],
      { prompt: 203_007, completion: 4_500, cached: 7, estimated: false },
    ],
    [
      "of all iterations, with what each wrote to the cache by its time to live",
      [
        {
          ...{ input_tokens: 3, output_tokens: 5, cache_creation_input_tokens: 20, cache_creation: null },
          iterations: [
            { input_tokens: 1, output_tokens: 2, cache_creation: { ephemeral_1h_input_tokens: 40 } },
            { input_tokens: 3, output_tokens: 5, cache_creation_input_tokens: 20 },
            ...[null, 5, [], "x", { input_tokens: -9, output_tokens: {} }],
          ],
        },
      ],
      { prompt: 64, completion: 7, cacheWrite: 60, hourWrite: 40 },
    ],
    [
      "of all iterations beside OpenAI's names, whose prompt holds the cached tokens",
      [
        usage(30, 5, {
          total_tokens: 35,
          cache_read_input_tokens: 20,
          iterations: [
            { input_tokens: 100, output_tokens: 7, cache_read_input_tokens: 50 },
            { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 20 },
          ],
        }),
      ],
      { prompt: 180, completion: 12, cached: 70 },
    ],
    [
      "the whole's where the iterations say less, or are no list",
      [
        { input_tokens: 9, output_tokens: 5, iterations: [{ input_tokens: 4, output_tokens: 2 }] },
        { input_tokens: 9, output_tokens: 5, iterations: 12 },
      ],
      { prompt: 9, completion: 5 },
    ],
    [
      "within input_tokens where the total says so",
      [{ input_tokens: 100, output_tokens: 5, total_tokens: 105, cache_read_input_tokens: 80 }],
      { prompt: 100, cached: 80 },
    ],
    [
      "never within input_tokens that are fewer, whatever the total says",
      [{ input_tokens: 2, output_tokens: 5, total_tokens: 7, cache_read_input_tokens: 80 }],
      { prompt: 82, cached: 80 },
    ],
    [
      "Anthropic's beside a prompt_tokens that can't hold them",
      [usage(2, 5, { cache_read_input_tokens: 80 })],
      { prompt: 82, cached: 80 },
    ],
    [
      "DeepSeek's hits and misses, without their sum",
      [{ prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36, completion_tokens: 5 }],
      { prompt: 100, cached: 64, estimated: false },
    ],
    [
      "llama-server's timings beside its usage",
      [usage(100, 5, { total_tokens: 105 }), { cache_n: 90, prompt_n: 10, predicted_n: 5 }],
      { prompt: 100, cached: 90, completion: 5 },
    ],
    ["what its slot held before", [usage(100, 5), { tokens_cached: 60 }], { cached: 60 }],
    ["not what its slot holds in the end", [usage(100, 5), { tokens_cached: 105 }], { cached: 0 }],
    [
      "reasoning within the completion",
      [usage(10, 9, { total_tokens: 19, completion_tokens_details: { reasoning_tokens: 4 } })],
      { completion: 9, reasoning: 4 },
    ],
    [
      "reasoning and cached tokens beside both",
      [usage(10, 5, { total_tokens: 59, cached_tokens: 40, reasoning_tokens: 4 })],
      { prompt: 50, cached: 40, completion: 9, reasoning: 4 },
    ],
    [
      "written where nothing explains the total",
      [usage(10, 5, { total_tokens: 30, reasoning_tokens: 4 })],
      { completion: 20 },
    ],
    [
      "none where they are negative, lists or objects",
      [usage(10, 5, { prompt_tokens_details: { cached_tokens: -8 }, reasoning_tokens: [4], cached_tokens: {} })],
      { cached: 0, reasoning: 0 },
    ],
    [
      "rounded to what costs more",
      [usage(9.5, 5, { prompt_tokens_details: { cached_tokens: 7.9 }, cache_write_tokens: 1.1 })],
      { prompt: 10, cached: 7, cacheWrite: 2 },
    ],
    [
      "cut to what a record holds",
      [{ input_tokens: 9e8, cache_read_input_tokens: 9e8, cache_creation_input_tokens: 9e8 }],
      { prompt: 2 ** 31 - 1 },
    ],
  ])("%s", (_what, reports, expected) => {
    expect(detailed(...reports)).toMatchObject(expected);
  });

  const random = splitmix64(35n);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  type Truth = { p: number; k: number; w: number; c: number; r: number };
  const styles: Record<string, (of: Truth) => { truth?: Partial<Truth>; reports: unknown[] }> = {
    openai: ({ p, k, c, r }) => ({
      truth: { w: 0 },
      reports: [
        usage(p, c, {
          total_tokens: p + c,
          prompt_tokens_details: { cached_tokens: k },
          completion_tokens_details: { reasoning_tokens: r },
        }),
      ],
    }),
    openrouter: ({ p, k, w, c, r }) => ({
      reports: [
        usage(p, c, {
          total_tokens: p + c,
          prompt_tokens_details: { cached_tokens: k, cache_write_tokens: w },
          completion_tokens_details: { reasoning_tokens: r },
        }),
      ],
    }),
    litellm: ({ p, k, w, c }) => ({
      truth: { r: 0 },
      reports: [
        usage(p, c, {
          total_tokens: p + c,
          cache_read_input_tokens: k,
          cache_creation_input_tokens: w,
          prompt_tokens_details: null,
        }),
      ],
    }),
    anthropic: ({ p, k, w, c }) => ({
      truth: { r: 0 },
      reports: [
        { input_tokens: p - k - w, output_tokens: 1, cache_read_input_tokens: k, cache_creation_input_tokens: w },
        { output_tokens: c },
      ],
    }),
    responses: ({ p, k, c, r }) => ({
      truth: { w: 0 },
      reports: [
        {
          input_tokens: p,
          output_tokens: c,
          total_tokens: p + c,
          input_tokens_details: { cached_tokens: k },
          output_tokens_details: { reasoning_tokens: r },
        },
      ],
    }),
    xai: ({ p, k, c, r }) => ({
      truth: { w: 0 },
      reports: [
        usage(p, c - r, {
          total_tokens: p + c,
          prompt_tokens_details: { cached_tokens: k },
          completion_tokens_details: { reasoning_tokens: r },
        }),
      ],
    }),
    deepseek: ({ p, k, c, r }) => ({
      truth: { w: 0 },
      reports: [
        {
          prompt_cache_hit_tokens: k,
          prompt_cache_miss_tokens: p - k,
          completion_tokens: c,
          completion_tokens_details: { reasoning_tokens: r },
        },
      ],
    }),
    llamaServer: ({ p, k, c }) => ({
      truth: { w: 0, r: 0 },
      reports: [usage(p, c, { total_tokens: p + c }), { cache_n: k, prompt_n: p - k, predicted_n: c }],
    }),
    gemini: ({ p, k, c, r }) => ({
      truth: { w: 0 },
      reports: [
        {
          promptTokenCount: p,
          cachedContentTokenCount: k,
          candidatesTokenCount: c - r,
          thoughtsTokenCount: r,
          totalTokenCount: p + c,
        },
      ],
    }),
  };
  it.each(Object.keys(styles))("the truth that %s has, in 500 usages", (name) => {
    for (let n = 0; n < 500; n++) {
      const p = 1 + upTo(n % 3 === 0 ? 20 : 100_000);
      const k = n % 5 === 0 ? 0 : upTo(p);
      const w = n % 2 === 0 ? 0 : upTo(p - k);
      const c = 1 + upTo(5_000);
      const r = n % 4 === 0 ? 0 : upTo(c - 1);
      const { truth, reports } = styles[name]!({ p, k, w, c, r });
      const result = detailed(...reports);
      expect(result, JSON.stringify(reports)).toMatchObject({ prompt: p, cached: k, completion: c, estimated: false });
      expect([result.cacheWrite, result.reasoning], JSON.stringify(reports)).toEqual([truth?.w ?? w, truth?.r ?? r]);
    }
  });

  it.each<[string, unknown[], number | undefined]>([
    ["the most of each kind", [{ web_search_requests: 1 }, { web_search_requests: 3 }, { web_search_requests: 2 }], 3],
    ["kinds together", [{ web_search_requests: 2, code_execution_requests: 1 }], 3],
    ["none that is free", [{ web_fetch_requests: 5, tool_search_requests: 2 }], undefined],
    ["none that is no count", [{ web_search_requests: -1, other_requests: "x" }, 5, null], undefined],
    ["sixteen kinds at most", [Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`t${n}`, 1]))], 16],
  ])("uses of the provider's tools: %s", (_what, reports, expected) => {
    const counts = createCounts();
    for (const report of reports) counts.add({ ...usage(10, 5), server_tool_use: report });
    expect(counts.result({ prompt: () => 7, written: () => 3 }).toolUses).toBe(expected);
  });

  it("parts of their wholes and whole numbers, whatever is reported", () => {
    const odd = [0, -1, 1, 3.5, 7, 100, "12", "x", null, undefined, true, [], {}, NaN, Infinity, 1e12];
    const names = [
      "prompt_tokens",
      "input_tokens",
      "completion_tokens",
      "output_tokens",
      "total_tokens",
      "cached_tokens",
    ];
    const more = [
      "cache_read_input_tokens",
      "cache_creation_input_tokens",
      "reasoning_tokens",
      "prompt_n",
      "cache_n",
      "tokens_cached",
    ];
    for (let n = 0; n < 2_000; n++) {
      const report = Object.fromEntries(
        [...names, ...more].filter(() => random() < 0.4).map((name) => [name, odd[upTo(odd.length - 1)]]),
      );
      const { prompt, cached, cacheWrite, completion, reasoning } = detailed(report);
      for (const count of [prompt, cached, cacheWrite, completion, reasoning])
        expect(Number.isInteger(count) && count >= 0).toBe(true);
      expect(cached + cacheWrite, JSON.stringify(report)).toBeLessThanOrEqual(prompt);
      expect(reasoning).toBeLessThanOrEqual(completion);
    }
  });
});
