// Tokens as endpoints report them: every member by itself, from whatever place and under whatever
// name; what is missing or can't be right is derived from the others, or estimated.
import { isObject } from "../../algorithms/text/json-shape.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import type { Usage } from "../../schemas/types.ts";
import { besideNames, byTimeOf, countOf, hourName, sumOf, withIterations } from "./iterations.ts";

const names = {
  prompt: ["prompt_tokens", "promptTokenCount"],
  completion: ["completion_tokens", "output_tokens", "candidatesTokenCount", "predicted_n"],
  total: ["total_tokens", "totalTokenCount"],
  reasoning: ["reasoning_tokens", "thinking_tokens", "thoughtsTokenCount"],
  cached: [
    ...["cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount"],
    ...["cache_read_input_tokens", "cache_n"],
  ],
  written: ["cache_creation_input_tokens", "cache_creation_tokens", "cache_write_tokens"],
} as const;
const promptDetails = ["prompt_tokens_details", "input_tokens_details"];
const details: Partial<Record<string, readonly string[]>> = {
  reasoning: ["completion_tokens_details", "output_tokens_details"],
  cached: promptDetails,
  written: promptDetails,
};
/** Cached tokens and the others (DeepSeek, llama-server): together the prompt. */
const parts = [
  ["prompt_cache_hit_tokens", "prompt_cache_miss_tokens"],
  ["cache_n", "prompt_n"],
] as const;

/** What records can hold. */
const mostRecorded = 2 ** 31 - 1;

export interface Counted extends Omit<Usage, "linked" | "recomputed" | "prefilled"> {
  /** Part of cacheWrite that is kept for an hour (Anthropic); absent: none. */
  hourWrite?: number;
  /** Uses of the provider's tools that have a price; absent: none. */
  toolUses?: number;
  /** Computed where tokens cost more (Anthropic's inference_geo: us); absent: it was not. */
  isRegional?: true;
}

export type Counts = ReturnType<typeof createCounts>;

type Name = keyof typeof names | "input" | "parts" | "cachedBeside" | "writtenBeside" | "hourWrite" | "slot";

export function createCounts() {
  const read: Partial<Record<Name, number>> = {};
  let isZero = false;
  let isRegional = false;
  /** Key: kind. */
  const uses = new Map<string, number>();

  /** Reports in a stream grow, or end with zeros: the highest stands. */
  const note = (name: Name, count: number | undefined): void => {
    if (count !== undefined) read[name] = Math.max(read[name] ?? 0, count);
  };

  /** The reported prompt, cached tokens included; undefined: not reported. */
  function promptOf(completion: number | undefined): number | undefined {
    const { prompt = read.parts, input, total, cachedBeside = 0, writtenBeside = 0 } = read;
    const beside = cachedBeside + writtenBeside;
    // Anthropic's input_tokens exclude cached tokens, unless the total includes them.
    const isWithin = completion !== undefined && beside <= (input ?? 0) && total === (input ?? 0) + completion;
    if (input !== undefined) return Math.max(prompt ?? 0, isWithin ? input : input + beside);
    return prompt !== undefined && beside > prompt ? prompt + beside : prompt;
  }

  return {
    /** An object with counts: a usage, timings, or what else may have some. */
    add(reported: unknown): void {
      if (!isObject(reported)) return;
      const usage = withIterations(reported);
      for (const [name, keys] of Object.entries(names) as [keyof typeof names, readonly string[]][]) {
        const places = [usage, ...(details[name] ?? []).map((member) => usage[member])].filter(isObject);
        // Rounds towards the higher cost.
        const rounded = name === "cached" ? Math.floor : Math.ceil;
        for (const place of places) for (const key of keys) note(name, countOf(place[key], rounded));
      }
      // Anthropic's input_tokens are 0 where the whole prompt is cached.
      const isCached = usage["input_tokens"] === 0 && sumOf(besideNames.map((name) => usage[name])) !== undefined;
      if (countOf(usage["prompt_tokens"]) === undefined) note("input", isCached ? 0 : countOf(usage["input_tokens"]));
      note("cachedBeside", countOf(usage["cache_read_input_tokens"]));
      const { cache_creation: creation, cache_creation_input_tokens: written } = usage;
      const byTime = byTimeOf(usage);
      note("written", byTime);
      if (isObject(creation)) note("hourWrite", countOf(creation[hourName]));
      note("writtenBeside", countOf(written) ?? byTime);
      for (const of of parts) if (of[1] in usage) note("parts", sumOf(of.map((key) => usage[key])));
      note("slot", countOf(usage["tokens_cached"]));
      // As Anthropic and OpenRouter count them.
      for (const [name, count] of Object.entries(isObject(usage["server_tool_use"]) ? usage["server_tool_use"] : {}))
        if (!freeUses.has(name) && (uses.size < mostKinds || uses.has(name)))
          uses.set(name, Math.max(uses.get(name) ?? 0, countOf(count) ?? 0));
      isRegional ||= usage["inference_geo"] === "us";
      isZero ||= usage["completion_tokens"] === 0 || usage["output_tokens"] === 0;
    },
    /** What stands in for counts that are missing: of the prompt, and of all that was written. */
    result({ prompt: ofPrompt, written: ofWritten }: { prompt: () => number; written: () => number }): Counted {
      const { total, reasoning = 0, written = 0, slot = 0 } = read;
      const toolUses = sumOf([...uses.values()]);
      let { completion, cached = 0 } = read;
      const answered = ofWritten();
      let prompt = promptOf(completion);
      // llama-server counts the slot's tokens at the end: fewer than the prompt were there before.
      if (cached === 0 && prompt !== undefined && slot < prompt) cached = slot;
      if (completion === undefined && prompt !== undefined && total !== undefined && total > prompt)
        completion = total - prompt;
      let estimated = completion === undefined && !(isZero && answered === 0);
      completion ??= answered === 0 ? 0 : answered + reasoning;
      let thought = reasoning;
      if (prompt === undefined && total !== undefined && total > completion) prompt = total - completion;
      else if (prompt !== undefined) {
        const gap = Math.max(0, (total ?? 0) - prompt - completion);
        const left = leftOut(gap, { prompt, completion, cached, written, reasoning });
        prompt += left.prompt;
        completion += left.completion;
        thought = Math.max(reasoning, left.completion);
      }
      estimated ||= prompt === undefined;
      prompt = Math.min(mostRecorded, prompt ?? Math.max(ofPrompt(), cached + written));
      completion = Math.min(mostRecorded, completion);
      const inCache = Math.min(prompt, cached);
      const cacheWrite = Math.min(prompt - inCache, written);
      return {
        ...{ prompt, completion, cached: inCache, cacheWrite },
        ...(read.hourWrite !== undefined && { hourWrite: Math.min(cacheWrite, read.hourWrite) }),
        ...(toolUses !== undefined && { toolUses }),
        ...(isRegional && { isRegional }),
        ...{ reasoning: Math.min(completion, thought), estimated },
      };
    },
  };
}

/** Tools of Anthropic's servers that cost nothing. */
const freeUses = new Set(["web_fetch_requests", "tool_search_requests"]);
const mostKinds = 16;

interface Reported {
  prompt: number;
  completion: number;
  cached: number;
  written: number;
  reasoning: number;
}

/**
 * Splits `gap`, the tokens of the total that are in neither prompt nor completion. They are
 * reasoning (xAI; Gemini, without a separate count), cached or written tokens, or both. Unexplained
 * tokens belong to the completion. Without a total, reasoning above the completion is outside it.
 */
function leftOut(
  gap: number,
  { completion, cached, written, reasoning }: Reported,
): Pick<Reported, "prompt" | "completion"> {
  if (gap === 0) return { prompt: 0, completion: reasoning > completion ? reasoning : 0 };
  const beside =
    [cached, written, cached + written].find((of) => of > 0 && (of === gap || of + reasoning === gap)) ?? 0;
  if (gap === reasoning) return { prompt: 0, completion: gap };
  return { prompt: beside, completion: gap - beside };
}

/** What an answer wrote: text, reasoning and calls of tools. */
export const writtenTokens = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + estimateTokens(text), 0);
