// Work on users' texts that may take long, cutting documents and replacing personal data: beside
// the event loop, within a time limit (supervised.ts).
import type { MaskItem, MaskOptions } from "../../algorithms/privacy/mask.ts";
import type { PersonalDataOptions } from "../../algorithms/privacy/pii.ts";
import type { Splitter } from "../../algorithms/text/split.ts";

export interface TextWork {
  /** As splitText (algorithms/text/split.ts). Rejects with TextError. */
  split(text: string, splitter: Splitter, most: number): Promise<string[]>;
  /** The texts with placeholders. Rejects with TextError. */
  redact(texts: readonly string[], options: PersonalDataOptions): Promise<string[]>;
  /** Many texts at once, as mask (algorithms/privacy/mask.ts). Rejects with TextError. */
  mask(items: readonly MaskItem[], options: MaskOptions): Promise<string[]>;
  /** Rejects when there is no worker and none can be started. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export class TextError extends Error {
  constructor(
    /** timeout: too long; busy: too many wait; unavailable: no worker, or it crashed. */
    readonly code: "text_timeout" | "text_busy" | "text_unavailable",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "TextError";
  }
}
