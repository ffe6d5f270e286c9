// Replaces personal data by placeholders such as <EMAIL_1> before an example is stored. Rules only
// (pii-rules.ts); pure. Equal values of a call get equal placeholders.
import { fold } from "./fold.ts";
import { cleanText } from "./json-values.ts";
import type { Span } from "./personal-rule.ts";
import { personalRules, type PersonalKind, type Rule } from "./pii-rules.ts";
import { createPlaceholders, placeholderShape, type Keyed } from "./placeholders.ts";
import { traitsOf } from "./text-traits.ts";

export { personalKinds, type PersonalKind } from "./pii-rules.ts";

export interface Replaced {
  texts: string[];
  found: Partial<Record<PersonalKind, number>>;
}

export type Finding = Span;

export interface PersonalDataOptions {
  /** Public IPv4 addresses too; false by default: in commands they are mostly examples. */
  ipAddresses?: boolean;
  /** Absent: placeholders are numbered 1, 2, 3 by their order in the texts. */
  keyed?: Keyed;
}

/** Idempotent. JSON, alone or within prose, stays JSON of the same shape (json-values.ts). */
export function replacePersonalData(texts: readonly string[], options: PersonalDataOptions = {}): Replaced {
  const { placeholder, found } = createPlaceholders(texts, options.keyed);
  /** Behind the first `before` characters, which are only a cue. */
  const replaced = (text: string, before = 0, isFound = (_kind: PersonalKind): boolean => true): string => {
    if (text.length < shortest) return text.slice(before);
    const parts: string[] = [];
    let from = before;
    for (const { kind, start, end } of findPersonalData(text, options)) {
      if (end <= before || !isFound(kind)) continue;
      const value = text.slice(Math.max(start, before), end);
      parts.push(text.slice(from, Math.max(start, before)), placeholder(kind, fold(value)?.text ?? value));
      from = end;
    }
    return parts.join("") + text.slice(from);
  };
  const cleanValue = (value: string, whole: string): string => {
    // Long ones are no words: for each of many values they would be read anew.
    const name = whole.slice(-longestName);
    // No row of digits alone.
    if (/^\d{0,12}$/.test(value) && !isCue.test(name)) return value;
    const cues = isCue.test(name) ? new Set([name, wordsOf(name)]) : [];
    let cleaned = replaced(value);
    for (const cue of cues) cleaned = replaced(`${cue}: ${cleaned}`, cue.length + 2, isByCue);
    return cleaned;
  };
  return { texts: texts.map((text) => cleanText(text, cleanValue, (prose) => replaced(prose))), found };
}

const longestName = 64;
/** Names of members whose values are told by them: "phone_number", "apiKey". */
const isCue =
  /phone|tel|mobil|cell|fax|whatsapp|handy|m[oó]vil|pass|pwd|secret|token|key|contraseña|kennwort|wachtwoord|senha|hasło/i;
const isByCue = (kind: PersonalKind): boolean => kind === "PHONE" || kind === "SECRET";
/** phoneNumbers as "phone Number". */
const wordsOf = (name: string): string =>
  name
    .replace(/[_.-]/g, " ")
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .replace(/s$/, "");

/** A finding may uncover what stood too close to it; so much nesting no text has. */
const mostRounds = 8;
const shortest = 5;

/** In order, not overlapping; however they are spelled (fold.ts). */
export function findPersonalData(text: string, options: PersonalDataOptions = {}): Finding[] {
  const folded = fold(text);
  const findings = findIn(folded?.text ?? text, options);
  if (folded !== null)
    for (const finding of findings) {
      finding.start = folded.starts[finding.start]!;
      finding.end = folded.ends[finding.end - 1]!;
    }
  return findings;
}

/** A rule sees only what stands between former findings. */
function findIn(text: string, { ipAddresses = false }: PersonalDataOptions): Finding[] {
  const table = ipAddresses ? allRules : withoutAddresses;
  const { rules } = table;
  const findings: Finding[] = [];
  // Stretches of text without findings, and how far the rules are with each, four numbers in turn:
  // start; end; the rule that is next, for rules take turns until all of them have found nothing in
  // a row; how many were tried on the stretches that this one was part of.
  const open: number[] = [];
  const add = (start: number, end: number, next: number, tried: number): void => {
    if (end - start >= shortest && tried < mostRounds * rules.length) open.push(start, end, next, tried);
  };
  let from = 0;
  for (const { index, 0: whole } of text.matchAll(placeholderShape)) {
    add(from, index, 0, 0);
    from = index + whole.length;
  }
  add(from, text.length, 0, 0);

  let isInOrder = true;
  let newest = 0;
  while (open.length > 0) {
    const tried = open.pop()!;
    const next = open.pop()!;
    const end = open.pop()!;
    const start = open.pop()!;
    const applicable = applicableTo(table, traitsOf(text, start, end));
    let piece: string | undefined;
    let i = 0;
    while (i < applicable.length && applicable[i]! < next) i++;
    for (let left = applicable.length; left > 0; left--, i++) {
      if (i === applicable.length) i = 0;
      const at = applicable[i]!;
      const rule = rules[at]!;
      if (rule.least > end - start) continue;
      const spans = rule.find((piece ??= text.slice(start, end)));
      if (spans.length === 0) continue;
      const turn = at >= next ? at - next : at - next + rules.length;
      let after = start;
      for (const span of spans) {
        span.start += start;
        span.end += start;
        isInOrder &&= span.start >= newest;
        newest = span.start;
        findings.push(span);
        add(after, span.start, at, tried + turn + 1);
        after = span.end;
      }
      add(after, end, at, tried + turn + 1);
      break;
    }
  }
  return isInOrder ? findings : findings.sort((one, other) => one.start - other.start);
}

/** Rules, and which of them there are for what a stretch has: most stretches have it of few. */
interface RuleTable {
  rules: readonly Rule[];
  /** By traits, in the order of the rules; made when such a stretch first comes. */
  applicable: (Uint8Array | undefined)[];
}
const tableOf = (rules: readonly Rule[]): RuleTable => ({ rules, applicable: new Array<Uint8Array | undefined>(256) });

function applicableTo({ rules, applicable }: RuleTable, traits: number): Uint8Array {
  return (applicable[traits] ??= Uint8Array.from(
    rules.flatMap(({ needs }, at) => ((needs & traits) === needs ? [at] : [])),
  ));
}
const [allRules, withoutAddresses] = [
  tableOf(personalRules),
  tableOf(personalRules.filter(({ kind }) => kind !== "IP")),
];
