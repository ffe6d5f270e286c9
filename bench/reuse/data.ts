// The pairs that the reuse benchmark reads: one line of JSON a pair of questions, and whether the
// answer to one may be given to the other. Any file of that form will do. What can't be used is
// refused with its line.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../algorithms/errors.ts";

export interface LabelledPair {
  /** What was asked before. */
  kept: string;
  /** What is asked now. */
  asked: string;
  same: boolean;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Folds need pairs of both labels on both sides. */
const fewestOfALabel = 20;

/** Throws an error for people when the file is not there, or a line of it can't be used. */
export async function loadPairs(data: string | undefined): Promise<LabelledPair[]> {
  const folder = process.env.PRECEDENT_DATA ?? resolve(root, "../shared/data");
  const file = data ?? join(folder, "qqp-pairs-a.jsonl");
  if (!existsSync(file))
    throw new Error(`${file} is not there: name a file with --data, or set PRECEDENT_DATA to the folder that holds it`);
  return parsePairs(await readFile(file, "utf8"), file);
}

/** `file` is what errors call it. */
export function parsePairs(text: string, file: string): LabelledPair[] {
  const pairs = text
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((line, i) => (line.trim() === "" ? [] : [pairOf(line, `${file}, line ${i + 1}`)]));
  for (const label of [true, false]) {
    const count = pairs.filter(({ same }) => same === label).length;
    if (count < fewestOfALabel)
      throw new Error(
        `${file} has ${count} pairs with the label ${label ? 1 : 0}: at least ${fewestOfALabel} of each are needed to keep some for testing`,
      );
  }
  return pairs;
}

function pairOf(line: string, where: string): LabelledPair {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`${where} is no JSON: ${messageOf(error)}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${where}: a line is an object with "text_a", "text_b" and "label"`);
  const { text_a, text_b, label } = value as Record<string, unknown>;
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
