// Replaces personal data in each text of a request by itself, equal values by equal placeholders
// (placeholders.ts). JSON stays JSON. Pure.
import { replacePersonalData, type PersonalDataOptions } from "./pii.ts";

export interface MaskItem {
  text: string;
  scope: string;
  /** A text by default; JSON where what stands for a withheld text must be JSON. */
  form?: "text" | "json";
}

export interface MaskOptions extends Pick<PersonalDataOptions, "ipAddresses"> {
  key: string;
}

/** Stands for a text that could not be checked in time. */
export const withheldText = "<WITHHELD_TEXT>";

export const scopeOf = (tenant: string, requestId: string): string =>
  `${Buffer.byteLength(tenant)}:${tenant}${requestId}`;

/** In order. Doing it again changes nothing. */
export const mask = (items: readonly MaskItem[], { key, ...options }: MaskOptions): string[] =>
  items.map(({ text, scope }) => replacePersonalData([text], { ...options, keyed: { key, scope } }).texts[0] ?? text);
