// Account and card numbers: rows of digits that a check digit tells from others. Read where they
// stand, without copies: a text may be nothing but what looks like the beginning of one.
import { ibanLength, isCardNumber, isIban } from "./check-digits.ts";
import type { Span } from "./personal-rule.ts";

const isBlankOrDash = (code: number): boolean => code === 32 || code === 45;
const isDigit = (code: number): boolean => code >= 48 && code < 58;
const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code >= 65 && code < 91) || (code >= 97 && code < 123);
const isWord = (code: number): boolean => isAlphanumeric(code) || code === 95;
const dot = 46;

const ibanHead = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}/g;

/**
 * A country and check digits, then as many characters as its accounts have, at most one blank or
 * dash between two.
 */
export function findIbans(text: string): Span[] {
  const spans: Span[] = [];
  ibanHead.lastIndex = 0;
  while (ibanHead.test(text)) {
    const start = ibanHead.lastIndex - 4;
    const length = ibanLength(text.charCodeAt(start), text.charCodeAt(start + 1));
    if (length === 0) continue;
    let end = start + 4;
    let taken = 4;
    for (; taken < length; taken++) {
      const next = isBlankOrDash(text.charCodeAt(end)) ? end + 1 : end;
      if (!isAlphanumeric(text.charCodeAt(next))) break;
      end = next + 1;
    }
    if (taken < length || isAlphanumeric(text.charCodeAt(end)) || !isIban(text, start, end)) continue;
    spans.push({ start, end });
    ibanHead.lastIndex = end;
  }
  return spans;
}

const longestCard = 19;
const shortestGroup = 3;

/**
 * Written in one piece, or in groups of three and more with a shorter one at the end at most: "4 5
 * 6 7 ..." is a list of numbers. The longest that fits.
 */
export function findCards(text: string): Span[] {
  const spans: Span[] = [];
  for (let at = 0; at < text.length; at++) {
    if (!isDigit(text.charCodeAt(at))) continue;
    const groups = digitGroups(text, at);
    const before = text.charCodeAt(at - 1);
    at = groups.at(-1)!;
    // The first one is a part of something else: x10, 1.5.
    takeCards(text, groups, isWord(before) || before === dot ? 2 : 0, spans);
  }
  return spans;
}

/** Rows of digits with one blank or dash between two: beginning and end of each, in turn. */
function digitGroups(text: string, from: number): number[] {
  const groups: number[] = [];
  for (let start = from; isDigit(text.charCodeAt(start));) {
    let end = start + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    groups.push(start, end);
    if (!isBlankOrDash(text.charCodeAt(end))) break;
    start = end + 1;
  }
  return groups;
}

/** Of the groups from this place on. */
function takeCards(text: string, groups: readonly number[], from: number, spans: Span[]): void {
  const end = groups.at(-1)!;
  const next = text.charCodeAt(end);
  // The last one is a part of something else: 10x, 1.5.
  const isPart = isWord(next) || (next === dot && isDigit(text.charCodeAt(end + 1)));
  const until = isPart ? groups.length - 2 : groups.length;
  for (let first = from; first < until; first += 2) {
    const last = lastOfCard(text, groups, first, until);
    if (last === -1) continue;
    spans.push({ start: groups[first]!, end: groups[last + 1]! });
    first = last;
  }
}

/** The last group of the longest card number that begins with this group; -1: none does. */
function lastOfCard(text: string, groups: readonly number[], first: number, until: number): number {
  const start = groups[first]!;
  let found = -1;
  let digits = 0;
  for (let last = first; last < until && digits < longestCard; last += 2) {
    const end = groups[last + 1]!;
    const size = end - groups[last]!;
    digits += size;
    if (isCardNumber(text, start, end, digits)) found = last;
    if (size < shortestGroup) break;
  }
  return found;
}
