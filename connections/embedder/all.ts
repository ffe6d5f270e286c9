// Embeds many texts in the background, longest first, so that batches have similar lengths. Lengths
// come from the tokenizer, or are estimated.
import { guessLength } from "./length.ts";

export interface AllOptions {
  ask: (text: string, length: number) => Promise<Float32Array>;
  countTokens?: ((texts: readonly string[]) => Promise<ArrayLike<number>>) | undefined;
  lanes: number;
  /** So few texts are one batch whatever their lengths. */
  oneBatch: number;
}

export function createEmbedAll({ ask, countTokens, lanes, oneBatch }: AllOptions) {
  async function lengthsOf(texts: readonly string[]): Promise<ArrayLike<number>> {
    const guess = (): number[] => texts.map(guessLength);
    // A worker that is lost costs padding; the vectors' own calls tell of it.
    return countTokens === undefined || texts.length <= oneBatch ? guess() : countTokens(texts).catch(guess);
  }

  return async function embedAll(
    texts: readonly string[],
    onProgress?: (done: number) => void,
  ): Promise<Float32Array[]> {
    const lengths = await lengthsOf(texts);
    const vectors: Float32Array[] = new Array<Float32Array>(texts.length);
    const order = texts.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]!);
    let next = 0;
    let done = 0;
    const lane = async (): Promise<void> => {
      for (let i = order[next++]; i !== undefined; i = order[next++]) {
        vectors[i] = await ask(texts[i]!, lengths[i]!);
        onProgress?.(++done);
      }
    };
    await Promise.all(Array.from({ length: Math.min(texts.length, lanes) }, lane));
    return vectors;
  };
}
