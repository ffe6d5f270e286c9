// Numbers of tokens, and the sum over the calls of one answer. Where Anthropic summarises the
// conversation first, or asks another model, its usage leaves those calls out and lists all of them
// as `iterations`.
import { isObject, listOf } from "../../algorithms/text/json-shape.ts";

type Json = Readonly<Record<string, unknown>>;

/** Anthropic's counts of prompt tokens beside input_tokens. */
export const besideNames = ["cache_read_input_tokens", "cache_creation_input_tokens"];
const promptNames = ["input_tokens", ...besideNames];

/** Tokens that an answer may have; more is a mistake. */
const most = 1_000_000_000;

/** A whole number; undefined: zero, or no count at all. Parts of a token are rounded up. */
export function countOf(value: unknown, rounded: (count: number) => number = Math.ceil): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number > 0 && number <= most ? rounded(number) : undefined;
}

/** undefined: the sum is zero. */
export const sumOf = (values: readonly unknown[]): number | undefined =>
  countOf(values.reduce<number>((sum, value) => sum + (countOf(value) ?? 0), 0));

/** Tokens written to the cache, as their times to live say; undefined: they say none. */
export const byTimeOf = ({ cache_creation: of }: Json): number | undefined =>
  isObject(of) ? sumOf(Object.values(of)) : undefined;

/** A usage, each of its counts at least the sum over its iterations. Linear. */
export function withIterations(usage: Json): Json {
  const calls = listOf(usage["iterations"]).filter(isObject);
  if (calls.length === 0) return usage;
  const names = [...promptNames, "output_tokens"];
  const sums = new Map(names.map((name) => [name, sumOf(calls.map((call) => callCount(call, name)))]));
  const counts = names.map((name) => [name, larger(usage[name], sums.get(name))] as const);
  // LiteLLM has the counts of OpenAI's format beside the list; its prompt holds the cached tokens.
  const prompt = usage["prompt_tokens"];
  const whole = countOf(prompt) === undefined ? prompt : larger(prompt, sumOf(promptNames.map((of) => sums.get(of))));
  const hours = calls.map(({ cache_creation: of }) => (isObject(of) ? of[hourName] : 0));
  const own = isObject(usage["cache_creation"]) ? usage["cache_creation"] : {};
  const hour = larger(own[hourName], sumOf(hours));
  return {
    ...usage,
    ...Object.fromEntries(counts),
    ...{ prompt_tokens: whole, cache_creation: { ...own, [hourName]: hour } },
  };
}

/** Part of the written tokens that is kept for an hour. */
export const hourName = "ephemeral_1h_input_tokens";

const larger = (one: unknown, other: number | undefined): number => Math.max(countOf(one) ?? 0, other ?? 0);

const callCount = (call: Json, name: string): number =>
  larger(call[name], name === "cache_creation_input_tokens" ? byTimeOf(call) : undefined);
