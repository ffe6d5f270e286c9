// Account and card numbers: rows of digits that a check digit tells from others.
import { ibanLength, isCardNumber, isIban } from "./check-digits.ts";
import type { Span } from "./personal-rule.ts";

const isBlankOrDash = (code: number): boolean => code === 32 || code === 45;
const isDigit = (code: number): boolean => code >= 48 && code < 58;
const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code >= 65 && code < 91) || (code >= 97 && code < 123);
const isWord = (code: number): boolean => isAlphanumeric(code) || code === 95;
const dot = 46;

/**
 * A country and check digits, then as many characters as its accounts have, at most one blank or
 * dash between two.
 */
export function findIbans(text: string): Span[] {
  const spans: Span[] = [];
  let after = 0;
  for (const { index, 0: head } of text.matchAll(/(?<![A-Za-z0-9])[A-Z]{2}\d{2}/g)) {
    const length = ibanLength(head.slice(0, 2));
    if (length === undefined || index < after) continue;
    let at = index + head.length;
    let taken = head.length;
    for (; taken < length; taken++) {
      const next = isBlankOrDash(text.charCodeAt(at)) ? at + 1 : at;
      if (!isAlphanumeric(text.charCodeAt(next))) break;
      at = next + 1;
    }
    if (taken < length || isAlphanumeric(text.charCodeAt(at))) continue;
    if (!isIban(text.slice(index, at).replace(/[ -]/g, ""))) continue;
    spans.push({ start: index, end: at });
    after = at;
  }
  return spans;
}

const shortestCard = 13;
const longestCard = 19;
const shortestGroup = 3;

/**
 * Written in one piece, or in groups of three and more with a shorter one at the end at most: "4 5
 * 6 7 ..." is a list of numbers. The longest that fits.
 */
export function findCards(text: string): Span[] {
  const spans: Span[] = [];
  for (let at = 0; at < text.length;) {
    if (!isDigit(text.charCodeAt(at))) {
      at++;
      continue;
    }
    const groups = digitGroups(text, at);
    const before = text.charCodeAt(at - 1);
    at = groups.at(-1)!.end;
    // The first one is a part of something else: x10, 1.5.
    takeCards(text, isWord(before) || before === dot ? groups.slice(1) : groups, spans);
  }
  return spans;
}

/** Rows of digits with one blank or dash between two. */
function digitGroups(text: string, from: number): Span[] {
  const groups: Span[] = [];
  for (let start = from; isDigit(text.charCodeAt(start));) {
    let end = start + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    groups.push({ start, end });
    if (!isBlankOrDash(text.charCodeAt(end))) break;
    start = end + 1;
  }
  return groups;
}

function takeCards(text: string, groups: Span[], spans: Span[]): void {
  const end = groups.at(-1)?.end;
  if (end === undefined) return;
  const next = text.charCodeAt(end);
  // The last one is a part of something else: 10x, 1.5.
  const whole = isWord(next) || (next === dot && isDigit(text.charCodeAt(end + 1))) ? groups.length - 1 : groups.length;
  for (let first = 0; first < whole; first++) {
    const { start } = groups[first]!;
    const issuer = text.charCodeAt(start) - 48;
    if (issuer < 2 || issuer > 6) continue;
    let digits = 0;
    let found = -1;
    for (let last = first; last < whole && digits < longestCard; last++) {
      const group = groups[last]!;
      const size = group.end - group.start;
      digits += size;
      if (digits >= shortestCard && digits <= longestCard)
        if (isCardNumber(text.slice(start, group.end).replace(/[ -]/g, ""))) found = last;
      if (size < shortestGroup) break;
    }
    if (found === -1) continue;
    spans.push({ start, end: groups[found]!.end });
    first = found;
  }
}
