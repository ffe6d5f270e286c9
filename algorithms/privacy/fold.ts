// Spellings under which identifiers hide: no-break and other blanks, dashes, full-width characters,
// digits of other scripts, invisible characters, escapes of JSON. Rules read the folded text, and
// findings are mapped back. Linear.

export interface Folded {
  text: string;
  /** Where each character stands in the original, and where it ends there. */
  starts: Int32Array;
  ends: Int32Array;
}

const blank = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";
const dash = "\\u2010-\\u2015\\u2212\\ufe58\\ufe63";
/** Zero width, direction, soft hyphen, variation selectors, byte order mark. */
const invisible = "\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff";
const escape = "\\\\{1,4}(?:u[\\da-fA-F]{4}|\\/)";
const pattern = `[${blank}${dash}${invisible}\\u2028\\u2029\\uff01-\\uff5e]|(?!\\d)\\p{Nd}|${escape}`;
const needsFolding = new RegExp(pattern, "u");
const foldable = new RegExp(pattern, "gu");
const [isBlank, isDash, isInvisible] = [blank, dash, invisible].map((set) => new RegExp(`^[${set}]$`, "u"));

function folded(one: string): string {
  if (one.startsWith("\\")) {
    const unit = one.endsWith("/") ? "/" : String.fromCharCode(parseInt(one.slice(-4), 16));
    return foldedCharacter(unit);
  }
  return foldedCharacter(one);
}

function foldedCharacter(one: string): string {
  const code = one.codePointAt(0)!;
  if (isBlank!.test(one)) return " ";
  if (isDash!.test(one)) return "-";
  if (isInvisible!.test(one)) return "";
  if (code === 0x2028 || code === 0x2029) return "\n";
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0);
  return /^\p{Nd}$/u.test(one) ? digitOf(code) : one;
}

/** Decimal digits stand in runs of ten, zero first. */
function digitOf(code: number): string {
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

/** null: the text has nothing to fold. */
export function fold(text: string): Folded | null {
  if (!needsFolding.test(text)) return null;
  const starts = new Int32Array(text.length);
  const ends = new Int32Array(text.length);
  const parts: string[] = [];
  let [length, from] = [0, 0];
  const keep = (to: number): void => {
    for (let at = from; at < to; at++, length++) ends[length] = (starts[length] = at) + 1;
    parts.push(text.slice(from, to));
  };
  for (const { index, 0: one } of text.matchAll(foldable)) {
    keep(index);
    from = index + one.length;
    const character = folded(one);
    if (character === "") continue;
    starts[length] = index;
    ends[length++] = from;
    parts.push(character);
  }
  keep(text.length);
  return { text: parts.join(""), starts, ends };
}
