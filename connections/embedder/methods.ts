// What the embedding worker can do.
export interface EmbedMethods {
  /** Concatenated unit vectors (texts.length x dimension); not finite ones as they are. */
  embed(texts: readonly string[]): Float32Array;
}

export interface EmbedWorkerInput {
  folder: string;
  /** Path of the model's file. */
  graph: string;
  threads: number;
}

/** Longer texts are cut: all-MiniLM-L6-v2 was trained on no more. [CLS] and [SEP] count. */
export const maxTokens = 256;

/** Characters read of a text: more than 256 tokens of real words. */
export const maxCharacters = 32 * maxTokens;
