// Traces of other services for precedent plan-capacity: when requests came and how many tokens they
// had, in the CSV formats of Azure's LLM traces and of BurstGPT. No texts.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Arrival } from "../analysis/capacity/requests.ts";
import { CommandError } from "./io.ts";
import { timeOf } from "./log-replay-file.ts";

/** Columns by their names in the file, in lower case. */
const names = {
  time: ["timestamp", "time"],
  prompt: ["contexttokens", "request tokens", "prompt_tokens"],
  completion: ["generatedtokens", "response tokens", "completion_tokens"],
};
type Column = keyof typeof names;

/** Of a longer trace the beginning is taken. */
export const mostArrivals = 500_000;
/** Tokens of a request; more is no token count. */
const mostTokens = 10_000_000;

/** By time. Rejects with file and row on the first one that is wrong. */
export async function readArrivals(file: string, shown: string): Promise<{ arrivals: Arrival[]; more: boolean }> {
  const found = await stat(file).catch(() => null);
  if (found?.isFile() !== true) throw new CommandError(`${shown}: there is no such file`);
  const arrivals: Arrival[] = [];
  let places: Record<Column, number> | undefined;
  let row = 0;
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
  for await (const line of lines) {
    row++;
    if (line.trim() === "") continue;
    const cells = cellsOf(row === 1 ? line.replace(/^\uFEFF/, "") : line);
    if (places === undefined) {
      places = placesOf(cells, shown);
      continue;
    }
    if (arrivals.length === mostArrivals) {
      lines.close();
      return { arrivals: sorted(arrivals), more: true };
    }
    arrivals.push(arrivalOf(cells, places, `${shown}, row ${row}`));
  }
  if (arrivals.length < 2)
    throw new CommandError(`${shown}: it has ${arrivals.length} requests, and a trace has two at least`);
  return { arrivals: sorted(arrivals), more: false };
}

const sorted = (arrivals: Arrival[]): Arrival[] => arrivals.sort((a, b) => a.arrival - b.arrival);

/** Of one line; a cell may stand in double quotes. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = ""]) =>
    (quoted?.replaceAll('""', '"') ?? plain).trim(),
  );

function placesOf(head: readonly string[], shown: string): Record<Column, number> {
  const lower = head.map((name) => name.toLowerCase());
  const place = (column: Column): number => {
    const at = lower.findIndex((name) => names[column].includes(name));
    if (at < 0)
      throw new CommandError(
        `${shown}, row 1: no column of ${column === "time" ? "times" : `${column} tokens`}; expected are TIMESTAMP,ContextTokens,GeneratedTokens (Azure) or Timestamp,Request tokens,Response tokens (BurstGPT)`,
      );
    return at;
  };
  return { time: place("time"), prompt: place("prompt"), completion: place("completion") };
}

function arrivalOf(cells: readonly string[], places: Record<Column, number>, where: string): Arrival {
  const said = (column: Column): string => cells[places[column]] ?? "";
  const count = (column: Column): number => {
    const value = said(column) === "" ? Number.NaN : Number(said(column));
    if (Number.isInteger(value) && value >= 0 && value <= mostTokens) return value;
    throw new CommandError(`${where}: ${column} tokens: "${said(column).slice(0, 40)}" is no whole number from 0`);
  };
  const time = said("time");
  // BurstGPT counts seconds from its beginning; Azure has times.
  const arrival = /^\d{1,8}(?:\.\d+)?$/.test(time) ? 1_000 * Number(time) : timeOf(time);
  if (!Number.isFinite(arrival))
    throw new CommandError(
      `${where}: time: "${time.slice(0, 40)}" is no time (2023-11-16 18:15:46.68, or seconds from the beginning)`,
    );
  return { arrival, prompt: count("prompt"), completion: count("completion") };
}
