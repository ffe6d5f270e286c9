// Placeholders: <EMAIL_1>, counted in the order of the texts, or numbered by a key where texts of
// one request are cleaned at different places (docs/privacy.md, Redaction). Pure.
import { createHmac } from "node:crypto";
import { personalKinds, type PersonalKind } from "./personal-rule.ts";

/** Equal values have equal placeholders wherever they stand within a scope, and in no other. */
export interface Keyed {
  /** Secret: who knows it can tell whether a placeholder stands for a value. */
  key: string;
  /** Scope within which equal values get equal placeholders, such as one request. */
  scope: string;
}

export const placeholderShape = new RegExp(`<(?:${personalKinds.join("|")})_\\d{1,9}>`, "g");
/** Counting never gets there. */
const leastKeyed = 100_000_000;
const keyedShape = new RegExp(`<(?:${personalKinds.join("|")})_\\d{9}>`, "g");

function macOf(key: string, parts: readonly string[]): Buffer {
  const mac = createHmac("sha256", key);
  // Lengths before parts: no two lists give the same bytes.
  for (const part of parts) mac.update(`${Buffer.byteLength(part)}:${part}`);
  return mac.digest();
}

/** Nine digits. */
const keyedNumber = ({ key, scope }: Keyed, value: string): number =>
  leastKeyed + (macOf(key, ["placeholder", scope, value]).readUIntBE(0, 6) % (9 * leastKeyed));

/** Kinds of names that may stand for a person: users, authors of feedback, sessions. */
export type Named = "user" | "author" | "session";
const pseudonymShape = /^(?:user|author|session)-[0-9a-f]{16}$/;

/** The same for the same name everywhere; of a pseudonym it is that pseudonym. */
export const pseudonym = (key: string, named: Named, name: string): string =>
  pseudonymShape.test(name) ? name : `${named}-${macOf(key, [named, name]).toString("hex").slice(0, 16)}`;

export type Placeholder = (kind: PersonalKind, value: string) => string;
export type Counts = Partial<Record<PersonalKind, number>>;

/** The highest number of each kind that the texts have already, those of keys left out. */
function countedIn(texts: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const text of texts)
    for (const [whole] of text.matchAll(placeholderShape)) {
      const [kind = "", digits = ""] = whole.slice(1, -1).split("_");
      if (digits.length < 9) numbers.set(kind, Math.max(numbers.get(kind) ?? 0, Number(digits)));
    }
  return numbers;
}

const counter = (numbers: Map<string, number>) => (kind: string) => {
  const number = (numbers.get(kind) ?? 0) + 1;
  numbers.set(kind, number);
  return number;
};

const isNumber: ReadonlySet<PersonalKind> = new Set(["IBAN", "CARD", "PHONE"]);

/** Counts on after placeholders in the texts, so that two people never become one. */
export function createPlaceholders(
  texts: readonly string[],
  keyed?: Keyed,
): { placeholder: Placeholder; found: Counts } {
  const next = counter(countedIn(texts));
  const known = new Map<string, string>();
  const found: Counts = {};
  return {
    found,
    placeholder(kind, value) {
      // Written otherwise (case, blanks, dashes) it is still the same mailbox, phone or card.
      const lower = value.toLowerCase();
      const same = `${kind} ${isNumber.has(kind) ? lower.replace(/[\s()./-]+/g, "") : lower.replace(/\s+/g, " ")}`;
      let name = known.get(same);
      if (name === undefined) {
        found[kind] = (found[kind] ?? 0) + 1;
        name = `<${kind}_${keyed === undefined ? next(kind) : keyedNumber(keyed, same)}>`;
        known.set(same, name);
      }
      return name;
    },
  };
}

/** The texts with counted placeholders instead of numbers made by a key. */
export function renumberPlaceholders(texts: readonly string[]): string[] {
  const next = counter(countedIn(texts));
  const known = new Map<string, string>();
  return texts.map((text) =>
    text.replace(keyedShape, (whole) => {
      const [kind = ""] = whole.slice(1).split("_");
      const name = known.get(whole) ?? `<${kind}_${next(kind)}>`;
      known.set(whole, name);
      return name;
    }),
  );
}
