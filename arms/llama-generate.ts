// Decodes one answer in one sequence. Sequences decode together in one batch (continuous batching).
// A sequence keeps the whole parts of its last prompt and does not prefill them again. Whole parts only: rounding depends on how
// tokens are batched, and a prefix reused at any token changed half of the greedy answers of SmolLM2.
import type { LlamaContextSequence, LlamaModel, Token } from "node-llama-cpp";
import type { Generate, Generated } from "./llama-methods.ts";
import { createStopMatcher } from "./stop-strings.ts";

// Between two parts of a prompt the call can be cancelled, and other sequences get a step in.
const prefillPart = 64;
// A character is spread over at most four tokens of bytes; more that still end in nothing are no text.
const longestCharacter = 4;

export interface KeptSequence {
  readonly state: LlamaContextSequence;
  /** Tokens from the start that were prefilled in whole parts. */
  whole: number;
}

export interface GenerateIn {
  model: LlamaModel;
  sequence: KeptSequence;
  /** The most tokens that prompt and answer may have together. */
  limit: number;
}

export interface Listeners {
  signal: AbortSignal;
  /** Gets the answer in parts, stop strings and what follows left out. */
  onText: (text: string) => void;
  /** Called after each token and each part of the prompt. */
  onProgress: () => void;
}

/** Greedy answers depend on the prompt alone. */
export async function generate(
  { model, sequence, limit }: GenerateIn,
  prompt: Token[],
  wanted: Generate,
  { signal, onText, onProgress }: Listeners,
): Promise<Generated> {
  const started = performance.now();
  if (prompt.length >= limit) return { kind: "tooLarge", prompt: prompt.length, limit };
  const prefilled = await prefill(sequence, prompt, signal, onProgress);
  if (signal.aborted) return { kind: "cancelled" };

  const matcher = createStopMatcher(wanted.stop);
  const most = Math.min(wanted.maxTokens, limit - prompt.length);
  const generated: Token[] = [];
  let undecoded: Token[] = [];
  let text = "";
  let firstTokenMs: number | null = null;
  let finishReason: "stop" | "length" = "stop";
  const add = (part: string): void => {
    if (part === "") return;
    text += part;
    onText(part);
  };
  const decode = (): string => {
    const before = [...prompt.slice(-8), ...generated.slice(0, generated.length - undecoded.length)].slice(-8);
    return model.detokenize(undecoded, false, before);
  };

  const tokens = sequence.state.evaluate(prompt.slice(sequence.whole), {
    temperature: wanted.temperature,
    topP: wanted.topP,
    topK: 0,
    seed: wanted.seed,
  });
  for await (const token of tokens) {
    firstTokenMs ??= performance.now() - started;
    onProgress();
    if (signal.aborted) return { kind: "cancelled" };
    generated.push(token);
    undecoded.push(token);
    const piece = decode();
    if (!piece.endsWith("\ufffd") || undecoded.length >= longestCharacter) {
      add(matcher.push(piece));
      undecoded = [];
    }
    if (matcher.stopped) break;
    if (generated.length >= most) {
      finishReason = "length";
      break;
    }
  }
  if (!matcher.stopped && undecoded.length > 0) add(matcher.push(decode()));
  if (!matcher.stopped) add(matcher.flush());
  return {
    kind: "done",
    text,
    finishReason: matcher.stopped ? "stop" : finishReason,
    prompt: prompt.length,
    linked: 0,
    recomputed: 0,
    prefilled,
    completion: generated.length,
    firstTokenMs,
  };
}

/** Tokens of the prompt that the sequence holds and that may be used again. */
export function reusable({ state, whole }: KeptSequence, prompt: Token[]): number {
  const { firstDifferentIndex } = state.compareContextTokens(prompt);
  // The last token is always evaluated: its logits give the first token of the answer.
  const most = Math.min(whole, firstDifferentIndex, prompt.length - 1);
  return most - (most % prefillPart);
}

/** Leaves all whole parts of the prompt in the sequence, but for its last token; the number of prompt tokens that it has to evaluate. */
async function prefill(
  sequence: KeptSequence,
  prompt: Token[],
  signal: AbortSignal,
  onProgress: () => void,
): Promise<number> {
  const held = reusable(sequence, prompt);
  const { state } = sequence;
  sequence.whole = held;
  if (state.nextTokenIndex > held) await state.eraseContextTokenRanges([{ start: held, end: state.nextTokenIndex }]);
  // Where the state could not be cut there it is prefilled anew.
  if (state.nextTokenIndex !== held) {
    await state.clearHistory();
    sequence.whole = 0;
  }
  const found = sequence.whole;
  while (prompt.length - sequence.whole > prefillPart && !signal.aborted) {
    await state.evaluateWithoutGeneratingNewTokens(prompt.slice(sequence.whole, sequence.whole + prefillPart));
    sequence.whole += prefillPart;
    onProgress();
  }
  return prompt.length - found;
}
