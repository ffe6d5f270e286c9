// E-mail addresses, phone numbers and public IPv4 addresses.
import { asciiOf, runBefore, shape, type Rule, type Span } from "./personal-rule.ts";
import { traits } from "./text-traits.ts";

// Accounts that name a role on a machine and no person: git@host in a command stays what it is.
const roleAccount = /^(?:git|hg|svn|root|user|username|ubuntu|ec2-user|www-data|nobody|someone)@/i;

// Reserved for examples and tests (RFC 2606), so not personal data.
const reservedDomain = /[@.](?:example\.(?:com|net|org)|example|test|invalid|localhost)$/i;

const longestLocal = 64;
const localEnd = /(?<![\p{L}\p{N}_.+%-])[\p{L}\p{N}_][\p{L}\p{N}_.+%'’-]{0,63}$/u;
const domain = /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,16}\p{L}{2,24}(?![\p{L}\p{N}])/uy;

const inLocal = asciiOf(/[\w.+%'-]/);

const inWord = asciiOf(/\w/);
const apostrophe = 39;

/** Where the mailbox begins in a run that ends at the "@": as localEnd says; -1: it is none. */
function startOfLocal(text: string, from: number, at: number): number {
  let start = -1;
  // In ASCII: at the beginning of the run, or behind an apostrophe; the first that fits.
  for (let i = from; i < at; i++) {
    const code = text.charCodeAt(i);
    if (code >= 128) {
      const local = localEnd.exec(text.slice(from, at));
      return local === null ? -1 : at - local[0].length;
    }
    const begins = i === from || text.charCodeAt(i - 1) === apostrophe;
    if (start === -1 && begins && inWord[code]! && at - i <= longestLocal) start = i;
  }
  return start;
}

/** Looked at from the "@": what stands before it up to a bound, and what follows. */
function findEmails(text: string): Span[] {
  const spans: Span[] = [];
  let after = 0;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    // One more than may be: where it is a letter too, the mailbox is none.
    const from = runBefore(text, Math.max(after, at - longestLocal - 1), at, inLocal);
    const start = startOfLocal(text, from, at);
    if (start === -1) continue;
    domain.lastIndex = at + 1;
    if (!domain.test(text)) continue;
    const end = domain.lastIndex;
    const address = text.slice(start, end);
    if (roleAccount.test(address) || reservedDomain.test(address)) continue;
    spans.push({ kind: "EMAIL", start, end });
    after = end;
  }
  return spans;
}

function digitCount(value: string): number {
  let count = 0;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code >= 48 && code < 58) count++;
  }
  return count;
}
const isPhone = (value: string): boolean => {
  const count = digitCount(value);
  // "+1000001" is a line or a size as a rule: without any separator more digits are asked for.
  return count >= 7 && count <= 15 && (count >= 10 || !/^\+\d+$/.test(value));
};
/** Nine digits and more: cues such as "number is" stand before much else. */
const isWholePhone = (value: string): boolean => isPhone(value) && digitCount(value) >= 9;
/** As dialled inside a country, with the leading 0, in groups. */
const isNational = (value: string): boolean => {
  const count = digitCount(value);
  return count >= 9 && count <= 12;
};

/** Whether the address is routable: others identify no person. */
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

const { at, digit, dot, plus } = traits;

export const emailRule: Rule = { kind: "EMAIL", needs: at | dot, least: 6, find: findEmails };

export const addressRule = shape(
  "IP",
  { needs: digit | dot, least: 7 },
  /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)/g,
  isPublicAddress,
);

export const phoneRules: readonly Rule[] = [
  shape(
    "PHONE",
    { needs: digit | plus, least: 8 },
    /(?<![\w+.])\+[1-9]\d{0,15}(?:(?:\)[ \t./-]?\(?|[ \t./-]\(?|\()\d{1,15}){0,6}\)?(?!\w)/g,
    isPhone,
  ),
  // North America: 415-555-0100.
  shape(
    "PHONE",
    { needs: digit, least: 10 },
    /(?<![\w.-])(?:1[ .-])?(?:\(\d{3}\)[ \t]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])/g,
  ),
  // Brazil: (11) 95555-0100.
  shape("PHONE", { needs: digit, least: 10 }, /(?<![\w.-])\(\d{2}\)[ \t]?\d{4,5}-\d{4}(?![\w-])/g),
  // Most others inside the country: 020 7946 0100, 01.99.00.12.34, 0221/4710 123.
  shape(
    "PHONE",
    { needs: digit, least: 9 },
    /(?<![\w.+/-])(?:\(0\d{1,4}\)|0\d{1,4})(?:[ ./-]\d{2,8}){1,4}(?![\w/-]|\.\d)/g,
    isNational,
  ),
  shape(
    "PHONE",
    { needs: digit, least: 9 },
    /\b(?:phone|tel|telephone|telefon|mobile|cell|call|text|fax|whatsapp|handy|reach)\b(?:[ \t]+(?:me|us|him|her|number|no|is|at|on)\b)*[.:]*[ \t]*(\(?\d[\d \t()./-]{5,18}\d)(?!\w)/gi,
    isPhone,
  ),
  shape(
    "PHONE",
    { needs: digit, least: 9 },
    /(?:phone|t[eé]l|t[eé]l[eé](?:ph|f)on[eo]?|telefoon(?:nummer)?|telefonnummer|mobile|m[oó]vil|cellulare|num[eé]ro|n[uú]mero|nummer|contact no|ll[aá]mame|appelez-moi|chiamami|bel|mich unter)["']?(?:[ \t]+(?:number|numero|es|est|is|le|il|al|au|el|é|è)(?=[ \t]))*[.:="'\t ]{1,6}(\(?\d[\d \t()./-]{5,18}\d)(?!\w)/gi,
    isWholePhone,
  ),
];
