// The pairs that the reuse benchmark reads: one line of JSON a pair of questions, and whether the
// answer to one may be given to the other. Any file of that form will do. What can't be used is
// refused with its line.
import { objectLines, readDataFile, type ObjectLine } from "../support/data-file.ts";

export interface LabelledPair {
  /** What was asked before. */
  kept: string;
  /** What is asked now. */
  asked: string;
  same: boolean;
}

/** Folds need pairs of both labels on both sides. */
const fewestOfALabel = 20;

/** Throws an error for people when the file is not there, or a line of it can't be used. */
export async function loadPairs(data: string | undefined): Promise<LabelledPair[]> {
  const { text, file } = await readDataFile(data, "qqp-pairs-a.jsonl");
  return parsePairs(text, file);
}

/** `file` is what errors call it. */
export function parsePairs(text: string, file: string): LabelledPair[] {
  const pairs = objectLines(text, file, '"text_a", "text_b" and "label"').map(pairOf);
  for (const label of [true, false]) {
    const count = pairs.filter(({ same }) => same === label).length;
    if (count < fewestOfALabel)
      throw new Error(
        `${file} has ${count} pairs with the label ${label ? 1 : 0}: at least ${fewestOfALabel} of each are needed to keep some for testing`,
      );
  }
  return pairs;
}

function pairOf({ value: { text_a, text_b, label }, where }: ObjectLine): LabelledPair {
  for (const [name, side] of [
    ["text_a", text_a],
    ["text_b", text_b],
  ] as const)
    if (typeof side !== "string" || side.trim() === "")
      throw new Error(`${where}: "${name}" must be a text that is not empty`);
  const same = typeof label === "boolean" ? Number(label) : label;
  if (same !== 0 && same !== 1) throw new Error(`${where}: "label" must be 0 or 1, true or false`);
  return { kept: text_a as string, asked: text_b as string, same: same === 1 };
}
