// Replaces names, contact data and credentials by placeholders such as <EMAIL_1>: before an example
// is kept (docs/design/selection.md, Example lifecycle). By rules alone (pii-rules.ts); pure and
// deterministic. The same value gets the same placeholder in all texts of a call, so that an answer
// still fits its question. What the rules do not see is said in docs/examples.md.
import { personalKinds, personalRules, type PersonalKind, type Rule } from "./pii-rules.ts";

export type { PersonalKind } from "./pii-rules.ts";

export interface Replaced {
  /** The given texts, in order, with placeholders. */
  texts: string[];
  /** How many different values of each kind were replaced. */
  found: Partial<Record<PersonalKind, number>>;
}

export interface PersonalDataOptions {
  /**
   * Public IPv4 addresses too; false by default, for in commands they are mostly examples, masks
   * and versions.
   */
  ipAddresses?: boolean;
}

/** A replacement may uncover what stood too close to it; so much nesting no text has. */
const mostPasses = 8;

/** Calling it again on what it returned changes nothing. */
export function replacePersonalData(
  texts: readonly string[],
  { ipAddresses = false }: PersonalDataOptions = {},
): Replaced {
  const rules = personalRules.filter(({ kind }) => ipAddresses || kind !== "IP");
  const { placeholder, found } = createPlaceholders(texts);
  const replaced = texts.map((text) => {
    let now = text;
    for (let pass = 0, before = ""; now !== before && pass < mostPasses; pass++) {
      before = now;
      for (const rule of rules) now = outsidePlaceholders(now, (piece) => applyRule(piece, rule, placeholder));
    }
    return now;
  });
  return { texts: replaced, found };
}

type Placeholder = (kind: PersonalKind, value: string) => string;

function applyRule(text: string, rule: Rule, placeholder: Placeholder): string {
  let result = "";
  let from = 0;
  for (const { start, end } of rule.find(text)) {
    result += text.slice(from, start) + placeholder(rule.kind, text.slice(start, end));
    from = end;
  }
  return from === 0 ? text : result + text.slice(from);
}

const placeholderShape = new RegExp(`(<(?:${personalKinds.join("|")})_\\d{1,6}>)`);

/** Placeholders are nobody's data: rules see only what stands between them. */
const outsidePlaceholders = (text: string, change: (piece: string) => string): string =>
  text
    .split(placeholderShape)
    .map((piece, index) => (index % 2 === 1 ? piece : change(piece)))
    .join("");

/**
 * Counts on after the placeholders that the texts have already, so that two people never become
 * one.
 */
function createPlaceholders(texts: readonly string[]): { placeholder: Placeholder; found: Replaced["found"] } {
  const numbers = new Map<PersonalKind, number>();
  const known = new Map<string, string>();
  const found: Replaced["found"] = {};
  for (const kind of personalKinds)
    for (const text of texts)
      for (const [, number] of text.matchAll(new RegExp(`<${kind}_(\\d{1,6})>`, "g")))
        numbers.set(kind, Math.max(numbers.get(kind) ?? 0, Number(number)));
  return {
    found,
    placeholder(kind, value) {
      // Written otherwise (case, blanks, dashes) it is still the same mailbox, phone or card.
      const isText = kind === "NAME" || kind === "ADDRESS";
      const lower = value.toLowerCase();
      const same = `${kind} ${isText ? lower.replace(/\s+/g, " ") : lower.replace(/[\s()./-]+/g, " ")}`;
      let name = known.get(same);
      if (name === undefined) {
        const number = (numbers.get(kind) ?? 0) + 1;
        numbers.set(kind, number);
        found[kind] = (found[kind] ?? 0) + 1;
        known.set(same, (name = `<${kind}_${number}>`));
      }
      return name;
    },
  };
}
