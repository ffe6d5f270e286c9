// The shapes by which personal data and secrets are found in texts (algorithms/pii.ts replaces
// them). English first, some German. A rule that is too wide spoils examples (a shell command must
// stay what it is), one that is too narrow lets data through: docs/examples.md says where each of
// them stands. Texts come from users: every rule takes time in proportion to the text. A run that
// no bound limits either ends what is looked for (it is consumed) or is cut out first and looked at
// once (secret-rules.ts, streets below). test/slow-text.test.ts holds them all to it.
import { isCardNumber, isIban } from "./check-digits.ts";
import { findApiKeys, findWebTokens, secretShapes, type Span } from "./secret-rules.ts";

export const personalKinds = ["SECRET", "EMAIL", "IBAN", "CARD", "IP", "PHONE", "ADDRESS", "NAME"] as const;
export type PersonalKind = (typeof personalKinds)[number];

export interface Rule {
  kind: PersonalKind;
  /** In order, not overlapping. */
  find(text: string): Iterable<Span>;
}

/** Matches of a global pattern; of its group `value` where it has one. */
function shape(kind: PersonalKind, pattern: RegExp, accept: (value: string) => boolean = () => true): Rule {
  return {
    kind,
    *find(text) {
      for (const match of text.matchAll(pattern)) {
        const value = match.groups?.["value"] ?? match[0];
        if (!accept(value)) continue;
        const start = match.index + match[0].lastIndexOf(value);
        yield { start, end: start + value.length };
      }
    },
  };
}

/**
 * Groups of characters with one blank or dash between them: the longest run of whole groups that is
 * one of the wanted numbers.
 */
function grouped(
  kind: PersonalKind,
  run: RegExp,
  most: number,
  wanted: (joined: string, groups: readonly string[]) => boolean,
): Rule {
  return {
    kind,
    *find(text) {
      for (const match of text.matchAll(run)) {
        const groups = [...match[0].matchAll(/[A-Za-z0-9]+/g)];
        for (let first = 0; first < groups.length; first++) {
          let joined = "";
          const taken: string[] = [];
          let found: { last: number; span: Span } | undefined;
          for (let last = first; last < groups.length && joined.length < most; last++) {
            const group = groups[last];
            joined += group?.[0] ?? "";
            taken.push(group?.[0] ?? "");
            const start = match.index + (groups[first]?.index ?? 0);
            const end = match.index + (group?.index ?? 0) + (group?.[0].length ?? 0);
            if (wanted(joined, taken)) found = { last, span: { start, end } };
          }
          if (found === undefined) continue;
          yield found.span;
          first = found.last;
        }
      }
    },
  };
}

/** "ab" as [aA][bB]: the cue of a name may be written either way, the name itself may not. */
const anyCase = (pattern: string): string =>
  pattern.replace(/\p{L}/gu, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);

const word = "\\p{Lu}[\\p{L}'’-]*\\p{L}";
const person = `${word}(?:[ \\t]+(?:(?:van|von|de|der|di|da|la|le|bin|al)[ \\t]+)*${word}){0,2}`;
const twoWords = `${word}[ \\t]+${word}`;

// What follows a greeting or "this is" with a capital and is nobody's name.
const noNames = new Set(
  (
    "all everyone everybody team there folks guys friends sir madam world bash linux unix windows mac macos docker kafka python java " +
    "javascript the a an my our your his her its their what how why when where which who not is are it this that i we you they he she " +
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october " +
    "november december english german french spanish hiring manager customer support service committee recruiter"
  ).split(" "),
);
const isName = (value: string): boolean => !noNames.has((value.split(/[ \t]/)[0] ?? "").toLowerCase());

// Accounts that name a role on a machine and no person: git@host in a command stays what it is.
const roleAccount = /^(?:git|hg|svn|root|user|username|ubuntu|ec2-user|www-data|nobody|someone)@/i;

// Reserved for examples and tests (RFC 2606): nobody's mailbox.
const reservedDomain = /[@.](?:example\.(?:com|net|org)|example|test|invalid|localhost)$/i;

/**
 * Written in one piece, or in groups of three and more with a shorter one at the end at most: "4 5
 * 6 7 ..." is a list of numbers.
 */
const isCard = (digits: string, groups: readonly string[]): boolean =>
  groups.slice(0, -1).every(({ length }) => length >= 3) && isCardNumber(digits);

const digitsOf = (value: string): string => value.replace(/\D/g, "");
const isPhone = (value: string): boolean => {
  const count = digitsOf(value).length;
  // "+1000001" is a line or a size as a rule: without any separator more digits are asked for.
  return count >= (/^\+\d+$/.test(value) ? 10 : 7) && count <= 15;
};

/**
 * In dotted decimals, and routable: private, loopback, multicast and documentation addresses name
 * nobody.
 */
function isPublicAddress(value: string): boolean {
  const bytes = value.split(".").map(Number);
  const [a = 0, b = 0, c = 0] = bytes;
  if (bytes.some((byte) => byte > 255)) return false;
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if ((a === 192 && b === 168) || (a === 172 && b >= 16 && b < 32) || (a === 169 && b === 254)) return false;
  return !(
    (a === 192 && b === 0 && c === 2) ||
    (a === 198 && b === 51 && c === 100) ||
    (a === 203 && b === 0 && c === 113)
  );
}

/**
 * A value after "password=": neither a variable, a path, a mask, nor a plain word of the sentence.
 */
const isSecretValue = (value: string): boolean => !/^(?:\p{L}+|[.~]{0,2}\/.*|[*.xX]+|%\w+|-.*)$/u.test(value);

const street =
  "(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Place|Pl|Terrace|Way|Close|Crescent|Parkway|Pkwy|Highway|Hwy)";
const place = `(?:,[ \\t]*${word}(?:[ \\t]${word})?(?:,?[ \\t]+[A-Z]{2}(?:[ \\t]+\\d{5}(?:-\\d{4})?)?)?)?`;

const assignedSecret =
  /(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token)["']?[ \t]*(?:=|:|[ \t]is[ \t])[ \t]*["']?(?<value>[^\s"'<>;,|&()$`\\{}[\]]{4,})/gi;

const houseNumber = new RegExp(`[ \\t]+\\d{1,4}[a-z]?(?:,?[ \\t]+\\d{5}[ \\t]+${word})?`, "uy");

/**
 * German streets are one word with the kind at its end: Lindenallee 7a, 10115 Berlin. A run of
 * letters is looked at once.
 */
function* findGermanStreets(text: string): Generator<Span> {
  for (const { index, 0: run } of text.matchAll(/[\p{L}-]+\.?/gu)) {
    const kind = /(?:straße|strasse|str\.|weg|allee|gasse|platz|damm)$/.exec(run.slice(-8));
    const name = kind === null ? null : /(?:^|-)\p{Lu}/u.exec(run);
    if (kind === null || name === null) continue;
    const from = name.index + (run.startsWith("-", name.index) ? 1 : 0);
    if (from >= run.length - kind[0].length) continue;
    houseNumber.lastIndex = index + run.length;
    const number = houseNumber.exec(text);
    if (number !== null) yield { start: index + from, end: houseNumber.lastIndex };
  }
}

/**
 * In the order in which they are applied: what may hold another (a key with an e-mail in it) comes
 * first.
 */
export const personalRules: readonly Rule[] = [
  { kind: "SECRET", find: findWebTokens },
  { kind: "SECRET", find: findApiKeys },
  ...secretShapes.map((pattern) => shape("SECRET", pattern)),
  shape("SECRET", assignedSecret, isSecretValue),
  shape(
    "EMAIL",
    /(?<![\w.+%-])[\p{L}\p{N}_][\p{L}\p{N}_.+%-]{0,63}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,16}\p{L}{2,24}(?![\p{L}\p{N}])/gu,
    (value) => !roleAccount.test(value) && !reservedDomain.test(value),
  ),
  grouped("IBAN", /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{1,30})+/g, 34, isIban),
  grouped("CARD", /(?<![\w.])\d+(?:[ -]\d+)*(?!\w|\.\d)/g, 19, isCard),
  shape("IP", /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)/g, isPublicAddress),
  shape("PHONE", /(?<![\w+.])\+[1-9]\d{0,15}(?:(?:\)[ \t./-]?\(?|[ \t./-]\(?|\()\d{1,15}){0,6}\)?(?!\w)/g, isPhone),
  shape("PHONE", /(?<![\w.-])(?:1[ .-])?(?:\(\d{3}\)[ \t]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])/g),
  shape(
    "PHONE",
    /\b(?:phone|tel|telephone|telefon|mobile|cell|call|text|fax|whatsapp|handy|reach)\b(?:[ \t]+(?:me|us|him|her|number|no|is|at|on)\b)*[.:]*[ \t]*(?<value>\(?\d[\d \t()./-]{5,18}\d)(?!\w)/gi,
    isPhone,
  ),
  shape(
    "ADDRESS",
    new RegExp(
      `(?<![\\w-])\\d{1,5}[a-z]?[ \\t]+(?:(?:${word}|[NSEW]\\.?|\\d{1,3}(?:st|nd|rd|th))[ \\t]+){1,4}${street}\\b\\.?(?:,?[ \\t]*(?:[Aa]pt|[Ss]uite|[Uu]nit|[Ff]loor|#)\\.?[ \\t]*\\w{1,6})?${place}`,
      "gu",
    ),
  ),
  { kind: "ADDRESS", find: findGermanStreets },
  shape("ADDRESS", /\bP\.?[ ]?O\.?[ ]Box[ ]\d{1,6}\b/gi),
  shape(
    "NAME",
    new RegExp(
      `(?<!\\p{L})${anyCase("(?:my name is|my name['’]s|i am called|call me|ich heiße|mein name ist)")}[ \\t]+(?<value>${person})`,
      "gu",
    ),
    isName,
  ),
  // "I'm Ann Lee", "This is Ann Lee": two words, for "I'm German" names nobody.
  shape("NAME", new RegExp(`(?<!\\p{L})(?:I am|I'm|I’m|[Tt]his is)[ \\t]+(?<value>${twoWords})`, "gu"), isName),
  shape(
    "NAME",
    new RegExp(`(?<!\\p{L})(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Frau|Mme)\\b\\.?[ \\t]+(?<value>${person})`, "gu"),
  ),
  shape(
    "NAME",
    new RegExp(
      `(?:^|\\n)[ \\t]*(?:Hi|Hello|Hey|Dear|Hallo|Liebe|Lieber)[ \\t]+(?<value>${person})(?=[ \\t]*(?:[,!:\\n]|$))`,
      "gu",
    ),
    isName,
  ),
  shape(
    "NAME",
    new RegExp(
      `(?<!\\p{L})${anyCase("(?:regards|sincerely|yours truly|cheers|best wishes|thanks|thank you|viele grüße|grüßen)")}[,!.]?[ \\t]*\\n+[ \\t]*(?<value>${person})(?=[ \\t]*(?:\\n|$))`,
      "gu",
    ),
    isName,
  ),
];
