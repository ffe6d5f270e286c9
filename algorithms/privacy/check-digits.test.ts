import { describe, expect, it } from "vitest";
import { isCardNumber, isIban, luhnValid } from "./check-digits.ts";

describe("check digits", () => {
  it.each(["79927398713", "4111111111111111", "378282246310005", "0"])("Luhn accepts %s", (digits) => {
    expect(luhnValid(digits)).toBe(true);
  });
  it.each(["79927398710", "4111111111111112", "", "4111 1111", "x"])("Luhn refuses %j", (digits) => {
    expect(luhnValid(digits)).toBe(false);
  });
  it("a card has an issuer's first digit and 13 to 19 digits", () => {
    expect(isCardNumber("5555555555554444")).toBe(true);
    expect(isCardNumber("1700000000000")).toBe(false); // a time in milliseconds, whatever its check digit
    expect(isCardNumber("18")).toBe(false);
  });
  it.each(["DE89370400440532013000", "GB82WEST12345698765432", "FR1420041010050500013M02606"])(
    "IBAN accepts %s",
    (iban) => {
      expect(isIban(iban)).toBe(true);
    },
  );
  it.each(["DE88370400440532013000", "DE89 3704", "de88370400440532013000"])("IBAN refuses %s", (text) => {
    expect(isIban(text)).toBe(false);
  });
});
