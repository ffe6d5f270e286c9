// Text of clients and models on a terminal: control characters would move the cursor, rename the
// window or hide what stands there.

/** Also C1, which terminals take for escapes, and what turns the direction of the text. */
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** Colours and weights, as our own output has them: nothing that hides. */
const colour = /^\u001b\[(?:0|1|2|22|3\d|4\d|9\d)m/;

/** The text without control characters; line feeds and tabs stay. */
export const withoutControls = (text: string): string => text.replace(control, "");

/**
 * The text with its control characters as \uXXXX, which is what they are in JSON. Kept: line feeds,
 * tabs, colours, and carriage returns at the beginning and before a line feed.
 */
export function printable(text: string): string {
  return text.replace(control, (character, at: number) => {
    if (character === "\u001b" && colour.test(text.slice(at, at + 6))) return character;
    if (character === "\r" && (at === 0 || text[at + 1] === "\n")) return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
