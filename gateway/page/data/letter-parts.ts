// Parts of a dead letter: bytes as text for people, and headers as they go into a new record. Pure.
import type { LetterText } from "./dead-letters.ts";

/** bytes: of the whole, where base64 is its beginning. */
export function textOf(base64: string | null, bytes?: number | null): LetterText | null {
  if (base64 === null) return null;
  const value = Buffer.from(base64, "base64");
  const whole = bytes ?? value.length;
  try {
    // What is cut may end within a character.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value, {
      stream: whole > value.length,
    });
    // Controls other than line breaks and tabs are no text.

    if (!/[\x00-\x08\x0b\x0c\x0e-\x1f]/.test(text)) return { text, isBase64: false, bytes: whole };
  } catch {
    // No UTF-8.
  }
  return { text: base64, isBase64: true, bytes: whole };
}

type List = readonly (readonly [name: string, value: Buffer | null])[];

/**
 * Headers as kafkajs takes them, where it writes exactly this list: it has none without a value,
 * writes repeated ones together, and names that are whole numbers first. null: it would not.
 */
export function headersOf(list: List): Record<string, Buffer[]> | null {
  const headers = Object.create(null) as Record<string, Buffer[]>;
  for (const [name, value] of list) {
    if (value === null) return null;
    (headers[name] ??= []).push(value);
  }
  const written = Object.keys(headers).flatMap((name) => (headers[name] ?? []).map((value) => [name, value] as const));
  const isSame = written.every(([name, value], i) => name === list[i]?.[0] && value === list[i][1]);
  return isSame ? headers : null;
}
