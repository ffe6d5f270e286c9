// The form in which two texts count as the same request: recorded answers and the response cache are looked up by it.

/** Unicode NFC, white space collapsed to single spaces and trimmed; case is kept, for it carries meaning in code and names. */
export function canonicalText(text: string): string {
  return text.normalize("NFC").replace(/\s+/gu, " ").trim();
}
