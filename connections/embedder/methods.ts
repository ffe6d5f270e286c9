// What the embedding worker can do.
export interface EmbedMethods {
  /**
   * Vectors of unit length, one after the other (texts.length x dimension). A vector that is not
   * finite is left as it is.
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
 * No more of a text is read: to tokenise a megabyte for 256 tokens would delay everybody, and real
 * words never need so many characters.
 */
export const maxCharacters = 32 * maxTokens;
