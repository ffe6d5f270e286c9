// Why a record batch can't be read. The codes are stable: dead letters and metrics carry them.

export type UnreadableCode =
  /** Compressed by an algorithm that Kafka does not have, or not yet. */
  | "unknown_codec"
  /** Another format than version 2, which Kafka writes since 0.11. */
  | "unknown_format"
  /** It ends before its own length says. */
  | "truncated_batch"
  | "broken_checksum"
  /** It would take more than mostBatchBytes. */
  | "batch_too_large"
  /** Its compressed bytes, or the records in it, make no sense. */
  | "corrupt_batch";

export class Unreadable extends Error {
  override name = "Unreadable";
  constructor(
    readonly code: UnreadableCode,
    message: string,
  ) {
    super(message);
  }
}

export const tooLarge = (most: number): Unreadable =>
  new Unreadable("batch_too_large", `it holds more than ${most} bytes`);

export const corrupt = (why: string): Unreadable => new Unreadable("corrupt_batch", why);

/** Errors of decoders and of reads behind the end, as one that says why. */
export const unreadableOf = (error: unknown): Unreadable =>
  error instanceof Unreadable ? error : corrupt(error instanceof Error ? error.message : String(error));
