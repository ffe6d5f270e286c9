// Reads lines of JSON and puts them in a fixed random order: a benchmark's sample is the same in
// every run, and a larger one begins with the smaller one.
import { existsSync } from "node:fs";
import { readFile, truncate } from "node:fs/promises";
import { splitmix64 } from "../../algorithms/numeric/random.ts";

/** Values of a file with one JSON value a line; the caller says of what type they are. */
export const readLines = async <T>(file: string): Promise<T[]> => parseLines(await readFile(file, "utf8"));

const parseLines = <T>(text: string): T[] =>
  text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as T]));

/**
 * The same of a file that runs append to; none where there is no file. A line that was cut short by
 * a kill is taken off the file, so that the next one does not stand behind half a line.
 */
export async function readAppended<T>(file: string): Promise<T[]> {
  if (!existsSync(file)) return [];
  const bytes = await readFile(file);
  const whole = bytes.lastIndexOf("\n") + 1;
  if (whole < bytes.length) await truncate(file, whole);
  return parseLines(bytes.toString("utf8", 0, whole));
}

export function shuffled<T>(all: readonly T[], seed: number): T[] {
  const random = splitmix64(seed);
  return all
    .map((value) => ({ value, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ value }) => value);
}

export interface Pair {
  request: string;
  response: string;
}

/** Each request of a file of two models' answers, with the answer of the small and of the large. */
export async function readAnswers(file: string): Promise<Pair[]> {
  const rows = await readLines<{ request: string; small: Pair; large: Pair }>(file);
  return rows.flatMap(({ request, small, large }) => [small, large].map(({ response }) => ({ request, response })));
}
