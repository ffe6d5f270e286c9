// What a rule of personal data is, and rules made from patterns. Every rule takes linear time:
// unbounded runs are consumed, or looked at from an anchor alone.

export const personalKinds = ["SECRET", "EMAIL", "IBAN", "CARD", "IP", "PHONE", "ADDRESS", "NAME"] as const;
export type PersonalKind = (typeof personalKinds)[number];

/** Half-open, in UTF-16 units. */
export interface Span {
  kind: PersonalKind;
  start: number;
  end: number;
}

export interface Rule {
  kind: PersonalKind;
  /** Without these characters (text-traits.ts) there is nothing to be found. */
  needs: number;
  /** In a shorter text there is nothing to be found. */
  least: number;
  /** In order, not overlapping, none empty. They are the caller's, who may move them. */
  find(text: string): readonly Span[];
}

const nothing: readonly Span[] = [];

/** Matches of a global pattern; of its first group where it has one (unnamed: half the time). */
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
        const whole = match[0];
        const value = match[1] ?? whole;
        if (!accept(value)) continue;
        const start = match.index + (value === whole ? 0 : whole.lastIndexOf(value));
        spans.push({ kind, start, end: start + value.length });
      }
      return spans;
    },
  };
}

export const asciiOf = (one: RegExp): readonly boolean[] =>
  Array.from({ length: 128 }, (_, code) => one.test(String.fromCharCode(code)));

/** Start (at least `from`) of the run of these characters that ends at `end`. Linear. */
export function runBefore(text: string, from: number, end: number, ofRun: readonly boolean[]): number {
  let start = end;
  for (; start > from; start--) {
    const code = text.charCodeAt(start - 1);
    if (code < 128 && !ofRun[code]!) break;
  }
  return start;
}
