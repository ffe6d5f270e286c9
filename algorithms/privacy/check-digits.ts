// Check digits: what tells a card number or a bank account from any other row of digits.

const zero = 48;
const blank = 32;
const dash = 45;

/** Luhn (ISO/IEC 7812) over a text of decimal digits; false for anything else. */
export const luhnValid = (digits: string): boolean =>
  /^\d+$/.test(digits) && luhnSum(digits, 0, digits.length) % 10 === 0;

/** Luhn sum of the digits in text[start, end); other characters are skipped. */
function luhnSum(text: string, start: number, end: number): number {
  let sum = 0;
  let isDoubled = false;
  for (let i = end - 1; i >= start; i--) {
    const digit = text.charCodeAt(i) - zero;
    if (digit < 0 || digit > 9) continue;
    const counted = isDoubled ? 2 * digit : digit;
    sum += counted > 9 ? counted - 9 : counted;
    isDoubled = !isDoubled;
  }
  return sum;
}

export const isIssuer = (code: number): boolean => code >= zero + 2 && code <= zero + 6;

/** Whether text[start, end) looks like a card number: 13 to 19 digits, issuer's digit, Luhn. */
export function isCardNumber(text: string, start = 0, end = text.length, digits = end - start): boolean {
  const issuer = text.charCodeAt(start);
  if (digits < 13 || digits > 19 || !isIssuer(issuer)) return false;
  // Only Visa issues numbers of thirteen digits.
  return (digits > 13 || issuer === zero + 4) && luhnSum(text, start, end) % 10 === 0;
}

const capitalA = 65;
const smallA = 97;
/** Makes ASCII letters capitals. */
const capitals = 0x5f;
const letters = 26;

/** Characters of an account number by its country, from the IBAN registry; 0: it has none. */
const ibanLengths = new Uint8Array(letters * letters);
for (const entry of (
  "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 " +
  "GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 " +
  "NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
).split(" "))
  ibanLengths[indexOf(entry.charCodeAt(0), entry.charCodeAt(1))] = Number(entry.slice(2));

const ibanLength = (first: number, second: number): number => ibanLengths[indexOf(first, second)]!;

function indexOf(first: number, second: number): number {
  return letters * (first - capitalA) + second - capitalA;
}

/** ISO 13616: end of the account number that begins at `start`; -1: there is none. */
export function endOfIban(text: string, start: number): number {
  const length = ibanLength(text.charCodeAt(start) & capitals, text.charCodeAt(start + 1) & capitals);
  if (length === 0 || start + length > text.length) return -1;
  let at = start + 4;
  let remainder = 0;
  for (let taken = 4; taken < length; taken++, at++) {
    let value = at < text.length ? valueOf(text.charCodeAt(at)) : none;
    if (value === separator) value = ++at < text.length ? valueOf(text.charCodeAt(at)) : none;
    if (value > greatest) return -1;
    // A letter counts as two digits.
    remainder = ((value > 9 ? 100 : 10) * remainder + value) % 97;
  }
  // The country and the check digits count as if they stood at the end.
  for (let i = start; i < start + 4; i++) {
    const value = valueOf(text.charCodeAt(i));
    remainder = ((value > 9 ? 100 : 10) * remainder + value) % 97;
  }
  return remainder === 1 ? at : -1;
}

const [greatest, separator, none] = [35, 36, 37];
const values = new Uint8Array(128).fill(none);
for (let i = 0; i < 10; i++) values[zero + i] = i;
for (let i = 0; i < letters; i++) values[capitalA + i] = values[smallA + i] = 10 + i;
values[blank] = values[dash] = separator;
const valueOf = (code: number): number => (code < 128 ? values[code]! : none);

export const isIban = (text: string): boolean => ibanHead.test(text) && endOfIban(text, 0) === text.length;
const ibanHead = /^[A-Z]{2}\d{2}/i;
