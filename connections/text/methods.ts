// What the text worker can do.
import type { MaskItem, MaskOptions } from "../../algorithms/privacy/mask.ts";
import type { PersonalDataOptions } from "../../algorithms/privacy/pii.ts";
import type { Splitter } from "../../algorithms/text/split.ts";

export interface TextMethods {
  split(call: { text: string; splitter: Splitter; most: number }): string[];
  redact(call: { texts: readonly string[]; options: PersonalDataOptions }): string[];
  mask(call: { items: readonly MaskItem[]; options: MaskOptions }): string[];
}
