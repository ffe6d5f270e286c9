// Replaces personal data by placeholders such as <EMAIL_1> before an example is stored. Rules only
// (pii-rules.ts); pure. Equal values of a call get equal placeholders.
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

/** Calling it again on what it returned changes nothing. */
export function replacePersonalData(texts: readonly string[], options: PersonalDataOptions = {}): Replaced {
  const { placeholder, found } = createPlaceholders(texts, options.keyed);
  const replaced = texts.map((text) => {
    const parts: string[] = [];
    let from = 0;
    for (const { kind, start, end } of findPersonalData(text, options)) {
      parts.push(text.slice(from, start), placeholder(kind, text.slice(start, end)));
      from = end;
    }
    return from === 0 ? text : parts.join("") + text.slice(from);
  });
  return { texts: replaced, found };
}

/** A finding may uncover what stood too close to it; so much nesting no text has. */
const mostRounds = 8;
const shortest = 5;

/** In order, not overlapping. A rule sees only what stands between former findings. */
export function findPersonalData(text: string, { ipAddresses = false }: PersonalDataOptions = {}): Finding[] {
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
