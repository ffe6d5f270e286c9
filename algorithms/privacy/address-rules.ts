// Streets with house numbers and post office boxes of some countries. A city is no address.
import { asciiOf, runBefore, shape, type Rule, type Span } from "./personal-rule.ts";
import { traits } from "./text-traits.ts";

const word = "\\p{Lu}[\\p{L}'’-]{0,30}\\p{L}";
const street =
  "(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Place|Pl|Terrace|Way|Close|Crescent|Parkway|Pkwy|Highway|Hwy)";
const postcode = "(?:[A-Z]{1,2}\\d[A-Z\\d]?[ ]\\d[A-Z]{2}|[A-Z]{2}(?:[ \\t]+\\d{5}(?:-\\d{4})?)?)";
const locality = `(?:,[ \\t]*${word}(?:[ \\t]${word}(?!\\d))?(?:,?[ \\t]+${postcode})?)?`;
/** ", 75002 Paris" */
const town = `(?:,?[ \\t]+\\d{4,5}(?:[ ][A-Z]{2})?[ \\t]+${word})?`;
/** "de la Paix", "Giuseppe Verdi" */
const romance = `(?:[ \\t]+(?:de|del|della|dei|des|du|da|do|das|dos|la|las|los|le|les|l['’]|d['’])){0,2}[ \\t]*(?:(?<=[ \\t'’])\\p{Lu}[\\p{L}'’-]{1,30})(?:[ \\t]+(?:(?:de|da|di)[ \\t]+)?\\p{Lu}[\\p{L}'’-]{1,30}){0,3}`;

/** Streets of one word with the kind at its end; the number decides, and is looked for first. */
const oneWord =
  /(?:[Ss]traße|[Ss]trasse|[Ss]tr\.|[Ww]eg|[Aa]llee|gasse|[Pp]latz|[Dd]amm|ufer|ring|straat|gracht|plein|laan|kade|singel|steeg)[ \t]+\d{1,4}/g;
const longestName = 60;
const nameEnd = /(?<![\p{L}-])(?:\p{L}+-){0,3}?(\p{Lu}[\p{L}-]*)$/u;
const inName = asciiOf(/[A-Za-z-]/);
const houseNumber = new RegExp(
  `[ \\t]+\\d{1,4}[a-z]?(?![\\p{L}\\d])(?:,?[ \\t]+(?:\\d{5}|\\d{4}[ ][A-Z]{2})[ \\t]+${word})?`,
  "uy",
);

const isDigit = (code: number): boolean => code >= 48 && code < 58;
const isBlank = (code: number): boolean => code === 32 || code === 9;
const isUpper = (code: number): boolean => code >= 65 && code < 91;
const dash = 45;

/** Start of the street's name whose kind begins at `end`; three dashed parts at most; -1: none. */
function startOfName(text: string, from: number, end: number): number {
  const start = runBefore(text, from, end, inName);
  if (!isAscii(text, start, end)) {
    const name = nameEnd.exec(text.slice(start, end));
    return name === null ? -1 : end - name[1]!.length;
  }
  for (let at = start, parts = 0, part = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (at === part && isUpper(code)) return at;
    if (code !== dash) continue;
    if (at === part || ++parts > 3) return -1;
    part = at + 1;
  }
  return -1;
}

function isAscii(text: string, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (text.charCodeAt(at) >= 128) return false;
  return true;
}

function findOneWordStreets(text: string): Span[] {
  const spans: Span[] = [];
  let after = 0;
  oneWord.lastIndex = 0;
  for (let match = oneWord.exec(text); match !== null; match = oneWord.exec(text)) {
    const { index } = match;
    const start = startOfName(text, Math.max(after, index - longestName), index);
    if (start === -1) continue;
    // Back over the number and what is blank before it.
    let blank = oneWord.lastIndex;
    while (isDigit(text.charCodeAt(blank - 1))) blank--;
    while (isBlank(text.charCodeAt(blank - 1))) blank--;
    houseNumber.lastIndex = blank;
    if (!houseNumber.test(text)) continue;
    after = houseNumber.lastIndex;
    spans.push({ kind: "ADDRESS", start, end: after });
  }
  return spans;
}

const { capital, digit } = traits;

const address = (pattern: string): Rule =>
  shape("ADDRESS", { needs: digit | capital, least: 8 }, new RegExp(pattern, "gu"));

export const addressRules: readonly Rule[] = [
  address(
    `(?<![\\w-])\\d{1,5}[a-z]?[ \\t]+(?:(?:${word}|[NSEW]\\.?|\\d{1,3}(?:st|nd|rd|th))[ \\t]+){1,4}${street}\\b\\.?(?:,?[ \\t]*(?:[Aa]pt|[Ss]uite|[Uu]nit|[Ff]loor|#)\\.?[ \\t]*\\w{1,6})?${locality}`,
  ),
  { kind: "ADDRESS", needs: digit, least: 7, find: findOneWordStreets },
  // Berliner Straße 5, Am Markt 3, 10115 Berlin
  address(`(?<![\\p{L}-])${word}[ \\t]+(?:Straße|Strasse|Str\\.|Allee|Platz|Weg)[ \\t]+\\d{1,4}[a-z]?(?!\\d)${town}`),
  address(
    `(?<!\\p{L})(?:Am|An der|Auf der|Im|Zum|Zur)[ \\t]+${word}[ \\t]+\\d{1,4}[a-z]?,?[ \\t]+\\d{5}[ \\t]+${word}`,
  ),
  // 12 bis, rue de la Paix, 75002 Paris
  address(
    `(?<![\\w-])\\d{1,4}(?:[ ]?(?:bis|ter))?,?[ \\t]+(?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Pp]lace|[Cc]hemin|[Aa]llée|[Qq]uai|[Ii]mpasse|[Cc]ours|[Rr]oute|[Ss]quare)(?!\\p{L})${romance}${town}`,
  ),
  // calle Mayor 5, 28013 Madrid; Rua Augusta, 10
  address(
    `(?<!\\p{L})(?:[Cc]alle|[Cc]\\/|[Aa]venida|[Aa]vda\\.|[Pp]laza|[Pp]aseo|[Cc]arrera|[Rr]ua|[Tt]ravessa|[Pp]raça|Via|(?<=(?:in|a|di|da)[ ])via|[Vv]iale|[Pp]iazza|[Cc]orso|[Vv]icolo)${romance},?[ \\t]+\\d{1,4}(?![\\d.])${town}`,
  ),
  shape(
    "ADDRESS",
    { needs: digit, least: 8 },
    /\b(?:P\.?[ ]?O\.?[ ]Box|Postfach|Apartado|Casella postale|Boîte postale)[ ]\d{1,6}\b/gi,
  ),
];
