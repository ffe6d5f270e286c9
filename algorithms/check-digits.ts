// Check digits: what tells a card number or a bank account from any other row of digits.

const zero = 48;

/** Luhn (ISO/IEC 7812) over a text of decimal digits; false for anything else. */
export function luhnValid(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - zero;
    if (digit < 0 || digit > 9) return false;
    const doubled = i % 2 === 1 ? 2 * digit : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return digits.length > 0 && sum % 10 === 0;
}

/** Whether digits look like a payment card: 13 to 19 of them, an issuer's first digit, Luhn. */
export const isCardNumber = (digits: string): boolean =>
  /^(?:4\d{12}|[2-6]\d{13,18})$/.test(digits) && luhnValid(digits);

/** Characters of an account number by country, from the IBAN registry. */
const ibanLengths = new Map<string, number>(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 " +
    "GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 " +
    "NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** undefined: the country has none. */
export const ibanLength = (country: string): number | undefined => ibanLengths.get(country);

/**
 * ISO 13616: two letters, two check digits, 11 to 30 more; modulo 97 is 1. Without blanks, in
 * capitals.
 */
export function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text)) return false;
  let remainder = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt((i + 4) % text.length);
    // A letter counts as two digits, from 10 for A.
    remainder = code < 65 ? (10 * remainder + code - zero) % 97 : (100 * remainder + code - 55) % 97;
  }
  return remainder === 1;
}
