// Which characters a text has, as bits: a rule that needs one of them is not tried on a text
// without it (pii.ts). One look at each character instead of one for each rule.

export const traits = {
  digit: 1,
  /** A capital or anything beyond ASCII, which may be one. */
  capital: 2,
  at: 4,
  colonOrEquals: 8,
  dashOrUnderscore: 16,
  plus: 32,
  dot: 64,
  newline: 128,
} as const;

const byCode = new Uint8Array(128);
for (let code = 48; code < 58; code++) byCode[code] = traits.digit;
for (let code = 65; code < 91; code++) byCode[code] = traits.capital;
for (const [characters, trait] of [
  ["@", traits.at],
  [":=", traits.colonOrEquals],
  ["-_", traits.dashOrUnderscore],
  ["+", traits.plus],
  [".", traits.dot],
  ["\n", traits.newline],
] as const)
  for (const character of characters) byCode[character.charCodeAt(0)] = trait;
const all = 255;

export function traitsOf(text: string, start: number, end: number): number {
  let found = 0;
  for (let i = start; i < end && found !== all; i++) {
    const code = text.charCodeAt(i);
    found |= code < 128 ? byCode[code]! : traits.capital;
  }
  return found;
}
