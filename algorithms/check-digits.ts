// Check digits: what tells a card number or a bank account from any other row of digits.

/** Luhn (ISO/IEC 7812) over a text of decimal digits; false for anything else. */
export function luhnValid(digits: string): boolean {
  if (!/^\d+$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? 2 * digit : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Whether digits look like a payment card: 13 to 19 of them, an issuer's first digit, Luhn. */
export const isCardNumber = (digits: string): boolean =>
  /^(?:4\d{12}|[2-6]\d{13,18})$/.test(digits) && luhnValid(digits);

/**
 * ISO 13616: two letters, two check digits, 11 to 30 more; modulo 97 is 1. Without blanks, in
 * capitals.
 */
export function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text)) return false;
  let remainder = 0;
  for (const character of text.slice(4) + text.slice(0, 4))
    for (const digit of String(parseInt(character, 36))) remainder = (10 * remainder + Number(digit)) % 97;
  return remainder === 1;
}
