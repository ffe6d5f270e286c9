// What an answer costs, and how expensive each arm is relative to the others (C_i of
// docs/design/routing.md, Cost).
import { tokensAtMost, tokensPerTurn } from "../algorithms/text/tokens.ts";
import type { ArmConfig } from "../config/schema.ts";
import type { Piece, Usage } from "../schemas/types.ts";

const million = 1_000_000;
// An arm's price is taken at this mix of tokens: prompts with examples are long, answers short.
const promptShare = 0.75;

/** In the prices' currency, which are per million tokens. Linked tokens cost as prompt tokens. */
export function answerCost(usage: Pick<Usage, "prompt" | "completion">, prices: ArmConfig["prices"]): number {
  return (usage.prompt * prices.prompt + usage.completion * prices.completion) / million;
}

/** C_i, [0, 1]: relative to the most expensive arm, or as configured; 0 without prices. */
export function normalisedCosts(arms: readonly ArmConfig[]): Map<string, number> {
  const prices = arms.map((arm) => promptShare * arm.prices.prompt + (1 - promptShare) * arm.prices.completion);
  const highest = Math.max(0, ...prices);
  return new Map(
    arms.map((arm, index) => [arm.name, arm.cost ?? (highest === 0 ? 0 : (prices[index] ?? 0) / highest)]),
  );
}

type Priced = Pick<ArmConfig, "maxTokens" | "prices"> & { contextTokens?: number | undefined };

/** What a call may cost: of that many prompt tokens, and the longest answer that it asks for. */
export function costAtMost(arm: Priced, prompt: number, maxTokens: number | null): number {
  const most = arm.contextTokens ?? Infinity;
  const usage = { prompt: Math.min(prompt, most), completion: Math.min(maxTokens ?? arm.maxTokens, most) };
  return answerCost(usage, arm.prices);
}

/** More than most vision models make of an image in full detail. */
const imageTokens = 2_500;

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** JSON of a body, without the data that stands in its messages' images and files. Linear. */
export function withoutData(json: string): string {
  const held = new Map<string, number>();
  const { messages } = JSON.parse(json) as Json;
  for (const message of listOf(messages))
    for (const part of listOf(isJson(message) ? message["content"] : null).filter(isJson)) {
      const { image_url: image, input_audio: audio, file } = part;
      const places = [
        isJson(image) ? image["url"] : image,
        isJson(audio) && audio["data"],
        isJson(file) && file["file_data"],
      ];
      for (const data of places) if (typeof data === "string") held.set(data, (held.get(data) ?? 0) + 1);
    }
  if (held.size === 0) return json;
  // A text that begins like data goes out as text, and is paid.
  return json.replace(/"data:[^"\\]*"/g, (text) => {
    const left = held.get(text.slice(1, -1)) ?? 0;
    if (left > 0) held.set(text.slice(1, -1), left - 1);
    return left > 0 ? '""' : text;
  });
}

/**
 * Tokens of the prompt that goes out, by `count`: pieces, and JSON for the endpoint, whose messages
 * stand in for all pieces but system texts. Linear.
 */
export function promptTokens(
  pieces: readonly Pick<Piece, "kind" | "text">[],
  passthrough: string | null = null,
  count: (text: string) => number = tokensAtMost,
): number {
  const json = passthrough ?? "";
  const images = json.match(/"type"\s*:\s*"image_url"/g)?.length ?? 0;
  const hasMessages = passthrough !== null && "messages" in (JSON.parse(passthrough) as object);
  const sent = hasMessages ? pieces.filter(({ kind }) => kind === "system") : pieces;
  return sent.reduce(
    (sum, { text }) => sum + count(text) + tokensPerTurn,
    count(json === "" ? "" : withoutData(json)) + images * imageTokens,
  );
}
