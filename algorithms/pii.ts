// Replaces names, contact data and credentials by placeholders such as <EMAIL_1>: before an example
// is kept (docs/design/selection.md, Example lifecycle). By rules alone (pii-rules.ts); pure and
// deterministic. The same value gets the same placeholder in all texts of a call, so that an answer
// still fits its question. What the rules do not see is said in docs/examples.md.
import { personalRules, type PersonalKind, type Rule } from "./pii-rules.ts";
import { createPlaceholders, placeholderShape, type Keyed } from "./placeholders.ts";
import { traitsOf } from "./text-traits.ts";

export { personalKinds, type PersonalKind } from "./pii-rules.ts";

export interface Replaced {
  /** The given texts, in order, with placeholders. */
  texts: string[];
  /** How many different values of each kind were replaced. */
  found: Partial<Record<PersonalKind, number>>;
}

/** Half-open, in UTF-16 units of the text. */
export interface Finding {
  kind: PersonalKind;
  start: number;
  end: number;
}

export interface PersonalDataOptions {
  /**
   * Public IPv4 addresses too; false by default, for in commands they are mostly examples, masks
   * and versions.
   */
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

/** A stretch of text without findings, and how far the rules are with it. */
interface Stretch {
  start: number;
  end: number;
  /** The rule that is next. Rules take turns until all of them have found nothing in a row. */
  next: number;
  /** Rules that were tried on the stretches that this one was part of. */
  tried: number;
}

/** A finding may uncover what stood too close to it; so much nesting no text has. */
const mostRounds = 8;
/** Nothing that a rule finds is shorter. */
const shortest = 5;

/**
 * In order, not overlapping. Rules see only what stands between findings and placeholders, as if
 * it were a text of its own.
 */
export function findPersonalData(text: string, { ipAddresses = false }: PersonalDataOptions = {}): Finding[] {
  const rules = ipAddresses ? personalRules : rulesWithoutAddresses;
  const findings: Finding[] = [];
  const open: Stretch[] = [];
  const add = (start: number, end: number, next: number, tried: number): void => {
    if (end - start >= shortest && tried < mostRounds * rules.length) open.push({ start, end, next, tried });
  };
  let from = 0;
  for (const { index, 0: whole } of text.matchAll(placeholderShape)) {
    add(from, index, 0, 0);
    from = index + whole.length;
  }
  add(from, text.length, 0, 0);

  for (let stretch = open.pop(); stretch !== undefined; stretch = open.pop()) {
    const { start, end, next } = stretch;
    const traits = traitsOf(text, start, end);
    const piece = text.slice(start, end);
    for (let turn = 0; turn < rules.length; turn++) {
      const at = (next + turn) % rules.length;
      const rule = rules[at]!;
      if (rule.least > end - start || (rule.needs & traits) !== rule.needs) continue;
      let after = start;
      for (const span of rule.find(piece)) {
        findings.push({ kind: rule.kind, start: start + span.start, end: start + span.end });
        add(after, start + span.start, at, stretch.tried + turn + 1);
        after = start + span.end;
      }
      if (after === start) continue;
      add(after, end, at, stretch.tried + turn + 1);
      break;
    }
  }
  return findings.sort((a, b) => a.start - b.start);
}

const rulesWithoutAddresses: readonly Rule[] = personalRules.filter(({ kind }) => kind !== "IP");
