// What a rule of personal data is, and how most are made: from a pattern. Texts come from users:
// every rule takes time in proportion to the text. A run that no bound limits either ends what is
// looked for (it is consumed) or is looked at from its anchor alone.

/** Half-open, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

export const personalKinds = ["SECRET", "EMAIL", "IBAN", "CARD", "IP", "PHONE", "ADDRESS", "NAME"] as const;
export type PersonalKind = (typeof personalKinds)[number];

export interface Rule {
  kind: PersonalKind;
  /** Without these characters (text-traits.ts) there is nothing to be found. */
  needs: number;
  /** In a shorter text there is nothing to be found. */
  least: number;
  /** In order, not overlapping, none empty. */
  find(text: string): readonly Span[];
}

const nothing: readonly Span[] = [];

/** Matches of a global pattern; of its group `value` where it has one. */
export function shape(
  kind: PersonalKind,
  { needs, least }: Pick<Rule, "needs" | "least">,
  pattern: RegExp,
  accept: (value: string) => boolean = () => true,
): Rule {
  return {
    kind,
    needs,
    least,
    find(text) {
      // Most texts have no match: an iterator of matches costs more than the look itself.
      pattern.lastIndex = 0;
      let match = pattern.exec(text);
      if (match === null) return nothing;
      const spans: Span[] = [];
      for (; match !== null; match = pattern.exec(text)) {
        const value = match.groups?.["value"] ?? match[0];
        if (!accept(value)) continue;
        const start = match.index + match[0].lastIndexOf(value);
        spans.push({ start, end: start + value.length });
      }
      return spans;
    },
  };
}
