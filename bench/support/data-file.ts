// Files of data that benchmarks read: where they lie, and their lines of JSON, each an object. What
// can't be used is refused with its line.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../connections/errors.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export const dataFolder = (): string => process.env.PRECEDENT_DATA ?? resolve(root, "../shared/data");

/** A file of the data. Throws an error for people where it is not there. */
export function neededFile(name: string): string {
  const file = join(dataFolder(), name);
  if (!existsSync(file)) throw new Error(`${file} is not there: set PRECEDENT_DATA to the folder that holds it`);
  return file;
}

/** What --data names, or the file that is usually read. Throws an error for people without it. */
export async function readDataFile(data: string | undefined, usual: string): Promise<{ text: string; file: string }> {
  const file = data ?? join(dataFolder(), usual);
  if (!existsSync(file))
    throw new Error(`${file} is not there: name a file with --data, or set PRECEDENT_DATA to the folder that holds it`);
  return { text: await readFile(file, "utf8"), file };
}

export interface ObjectLine {
  value: Record<string, unknown>;
  /** File and line, for errors. */
  where: string;
}

/** members: what a line has, for the error of one that is no object. Empty lines are left out. */
export const objectLines = (text: string, file: string, members: string): ObjectLine[] =>
  text
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((line, i) => {
      const where = `${file}, line ${i + 1}`;
      return line.trim() === "" ? [] : [{ value: objectOf(line, where, members), where }];
    });

function objectOf(line: string, where: string, members: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`${where} is no JSON: ${messageOf(error)}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${where}: a line is an object with ${members}`);
  return value as Record<string, unknown>;
}
