// Account and card numbers: rows of digits that a check digit tells from others. Read where they
// stand, without copies: a text may be nothing but what looks like the beginning of one.
import { endOfIban, isCardNumber, isIssuer } from "./check-digits.ts";
import type { Span } from "./personal-rule.ts";

const isBlankOrDash = (code: number): boolean => code === 32 || code === 45;
const isDigit = (code: number): boolean => code >= 48 && code < 58;
const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code >= 65 && code < 91) || (code >= 97 && code < 123);
const isWord = (code: number): boolean => isAlphanumeric(code) || code === 95;
const dot = 46;

// Beyond the text there is a blank: charCodeAt would give NaN there, and be slow from then on.
const codeAt = (text: string, at: number): number => (at >= 0 && at < text.length ? text.charCodeAt(at) : 32);
const isLetter = (code: number): boolean => isAlphanumeric(code) && !isDigit(code);

/** Country and check digits in any case, the country's length; single blanks or dashes between. */
export function findIbans(text: string): Span[] {
  const spans: Span[] = [];
  const last = text.length - shortestIban;
  for (let start = 0; start <= last; start++) {
    if (!isDigit(codeAt(text, start + 3)) || !isDigit(codeAt(text, start + 2))) continue;
    if (!isLetter(codeAt(text, start)) || !isLetter(codeAt(text, start + 1))) continue;
    if (isAlphanumeric(codeAt(text, start - 1))) continue;
    const end = endOfIban(text, start);
    if (end === -1 || isAlphanumeric(codeAt(text, end))) continue;
    spans.push({ kind: "IBAN", start, end });
    start = end - 1;
  }
  return spans;
}
const shortestIban = 15;

const longestCard = 19;
const shortestGroup = 3;

/** In one piece or in groups of three digits and more. The longest that fits. */
export function findCards(text: string): Span[] {
  const spans: Span[] = [];
  for (let at = 0; at < text.length; at++) {
    if (!isDigit(codeAt(text, at))) continue;
    const before = codeAt(text, at - 1);
    // The first group is a part of something else: x10, 1.5.
    let isPart = isWord(before) || before === dot;
    for (let more = true; more;) {
      let end = isPart ? -1 : endOfCard(text, at);
      if (end === -1) end = endOfDigits(text, at);
      else spans.push({ kind: "CARD", start: at, end });
      isPart = false;
      more = isFollowed(text, end);
      at = more ? end + 1 : end;
    }
  }
  return spans;
}

function endOfDigits(text: string, from: number): number {
  let end = from;
  while (isDigit(codeAt(text, end))) end++;
  return end;
}

/** By another group, with one blank or dash between the two. */
const isFollowed = (text: string, end: number): boolean =>
  isBlankOrDash(codeAt(text, end)) && isDigit(codeAt(text, end + 1));

/** What a digit counts that Luhn doubles. */
const doubled = Uint8Array.from([0, 2, 4, 6, 8, 1, 3, 5, 7, 9]);

/** End of the longest card number from `start`; -1: none. The end decides which digits double. */
function endOfCard(text: string, start: number): number {
  if (!isIssuer(codeAt(text, start))) return -1;
  let found = -1;
  let digits = 0;
  let inGroup = 0;
  let ofOdd = 0;
  let ofEven = 0;
  for (let at = start; ; at++) {
    const code = codeAt(text, at);
    if (isDigit(code)) {
      if (digits++ === longestCard) return found;
      inGroup++;
      const digit = code - 48;
      const isOdd = (digits & 1) === 1;
      ofOdd += isOdd ? digit : doubled[digit]!;
      ofEven += isOdd ? doubled[digit]! : digit;
      continue;
    }
    const more = isBlankOrDash(code) && isDigit(codeAt(text, at + 1));
    if (!more && isCut(text, at)) return found;
    const sum = (digits & 1) === 1 ? ofOdd : ofEven;
    if (sum % 10 === 0 && isCardNumber(text, start, at, digits)) found = at;
    if (!more || inGroup < shortestGroup) return found;
    inGroup = 0;
  }
}

/** The last group is a part of something else: 10x, 1.5. */
function isCut(text: string, end: number): boolean {
  const next = codeAt(text, end);
  return isWord(next) || (next === dot && isDigit(codeAt(text, end + 1)));
}
