// What an answer costs, and how expensive each arm is relative to the others (C_i of
// docs/design/routing.md, Cost).
import { rawMembers } from "../algorithms/text/exact-json.ts";
import { isObject, listOf } from "../algorithms/text/json-shape.ts";
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

/** JSON of a body, without the data that stands in its messages' images and files. Linear. */
function withoutData(json: string): string {
  const held = new Map<string, number>();
  const { messages } = JSON.parse(json) as { messages?: unknown };
  for (const message of listOf(messages))
    for (const part of listOf(isObject(message) ? message["content"] : null).filter(isObject)) {
      const { image_url: image, input_audio: audio, file } = part;
      const places = [
        isObject(image) ? image["url"] : image,
        isObject(audio) && audio["data"],
        isObject(file) && file["file_data"],
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
 * What goes out: JSON for the endpoint without data, "" for none, and the pieces' texts; messages
 * in it stand in for all pieces but system texts. Linear.
 */
export function textsSent(pieces: readonly Pick<Piece, "kind" | "text">[], passthrough?: string | null): string[] {
  if (passthrough === undefined || passthrough === null) return ["", ...pieces.map(({ text }) => text)];
  const hasMessages = rawMembers(passthrough).has("messages");
  const sent = hasMessages ? pieces.filter(({ kind }) => kind === "system") : pieces;
  return [withoutData(passthrough), ...sent.map(({ text }) => text)];
}

/** Tokens of the prompt that goes out, by `count`. Linear. */
export function promptTokens(
  pieces: readonly Pick<Piece, "kind" | "text">[],
  passthrough: string | null = null,
  count: (text: string) => number = tokensAtMost,
): number {
  const images = passthrough?.match(/"type"\s*:\s*"image_url"/g)?.length ?? 0;
  const [json = "", ...texts] = textsSent(pieces, passthrough);
  return texts.reduce((sum, text) => sum + count(text) + tokensPerTurn, count(json) + images * imageTokens);
}
