// What the embedding worker can do.
export interface EmbedMethods {
  /**
   * Concatenated vectors of unit length (texts.length x dimension). A vector that is not finite is
   * not normalised.
   */
  embed(texts: readonly string[]): Float32Array;
  /** How many tokens of each text the model reads, special ones included. */
  countTokens(texts: readonly string[]): Int32Array;
}

export interface EmbedWorkerInput {
  /** Has model.onnx and tokenizer.json. */
  folder: string;
  /** Intra-op threads of ONNX Runtime. */
  threads: number;
}

/** Longer texts are cut: all-MiniLM-L6-v2 was trained on no more. [CLS] and [SEP] count. */
export const maxTokens = 256;

/**
 * Maximum characters that are read of a text: tokenising a megabyte for 256 tokens would delay all
 * callers, and real words never need so many characters.
 */
export const maxCharacters = 32 * maxTokens;
