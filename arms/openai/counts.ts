// Tokens as endpoints report them: every member by itself, from whatever place and under whatever
// name; what is missing or can't be right is derived from the others, or estimated.
import { isObject } from "../../algorithms/text/json-shape.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";

const names = {
  prompt: ["prompt_tokens", "input_tokens", "promptTokenCount"],
  completion: ["completion_tokens", "output_tokens", "candidatesTokenCount"],
  total: ["total_tokens", "totalTokenCount"],
  reasoning: ["reasoning_tokens", "thoughtsTokenCount"],
  cached: ["cached_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount", "cache_read_input_tokens"],
} as const;
type Name = keyof typeof names;
const details: Partial<Record<Name, readonly string[]>> = {
  reasoning: ["completion_tokens_details", "output_tokens_details"],
  cached: ["prompt_tokens_details", "input_tokens_details"],
};
/** Anthropic's input_tokens leave these out. */
const beside = ["cache_read_input_tokens", "cache_creation_input_tokens"];

/** Tokens that an answer may have; more is a mistake. */
const most = 1_000_000_000;

/** A whole number > 0; undefined: zero, or no count at all. Parts of a token are rounded up. */
function countOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number > 0 && number <= most ? Math.ceil(number) : undefined;
}

export interface Counted {
  prompt: number;
  completion: number;
  /** Prompt tokens that the endpoint had cached. */
  cached: number;
  /** One of them was neither reported nor derivable. */
  estimated: boolean;
}

export interface Counts {
  add(usage: unknown): void;
  /** What stands in for counts that are missing: of the prompt, and of all that was written. */
  result(estimate: { prompt: () => number; written: () => number }): Counted;
}

export function createCounts(): Counts {
  const read: Partial<Record<Name, number>> = {};
  let isZero = false;

  /** Reports in a stream grow, or end with zeros: the highest stands. */
  const note = (name: Name, count: number | undefined): void => {
    if (count !== undefined) read[name] = Math.max(read[name] ?? 0, count);
  };

  return {
    add(usage) {
      if (!isObject(usage)) return;
      for (const name of Object.keys(names) as Name[]) {
        const places = [usage, ...(details[name] ?? []).map((member) => usage[member])].filter(isObject);
        for (const place of places) for (const key of names[name]) note(name, countOf(place[key]));
      }
      const input = countOf(usage["input_tokens"]);
      if (countOf(usage["prompt_tokens"]) === undefined && input !== undefined)
        note(
          "prompt",
          beside.reduce((sum, member) => sum + (countOf(usage[member]) ?? 0), input),
        );
      isZero ||= usage["completion_tokens"] === 0 || usage["output_tokens"] === 0;
    },
    result({ prompt: ofPrompt, written: ofWritten }) {
      const { total, reasoning = 0, cached = 0 } = read;
      const written = ofWritten();
      let { prompt, completion } = read;
      if (completion === undefined && prompt !== undefined && total !== undefined && total > prompt)
        completion = total - prompt;
      let estimated = completion === undefined && !(isZero && written === 0);
      completion ??= written === 0 ? 0 : written + reasoning;
      if (prompt === undefined && total !== undefined && total > completion) prompt = total - completion;
      else if (prompt !== undefined) {
        const gap = Math.max(0, (total ?? 0) - prompt - completion);
        if (gap > 0 && gap === cached) prompt += gap;
        else completion += unreported(gap, completion, reasoning);
      }
      estimated ||= prompt === undefined;
      prompt ??= Math.max(ofPrompt(), cached);
      return { prompt, completion, cached: Math.min(prompt, cached), estimated };
    },
  };
}

/**
 * Reasoning that the completion leaves out: the total says so (xAI, Gemini; the latter without a
 * count of its own), or there is more of it than of the completion.
 */
function unreported(gap: number, completion: number, reasoning: number): number {
  if (gap > 0 && (reasoning === 0 || gap === reasoning)) return gap;
  return reasoning > completion ? reasoning : 0;
}

/** What an answer wrote: text, reasoning and calls of tools. */
export const writtenTokens = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + estimateTokens(text), 0);
