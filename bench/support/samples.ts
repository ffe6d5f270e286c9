// Reads lines of JSON and puts them in a fixed random order: a benchmark's sample is the same in
// every run, and a larger one begins with the smaller one.
import { readFile } from "node:fs/promises";
import { splitmix64 } from "../../algorithms/numeric/random.ts";

/** Values of a file with one JSON value a line; the caller says of what type they are. */
export async function readLines<T>(file: string): Promise<T[]> {
  const text = await readFile(file, "utf8");
  return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as T]));
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
