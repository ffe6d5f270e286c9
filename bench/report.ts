// How a benchmark's outcome reaches its reader: a table, one JSON object, or a file in results/.
import Table from "cli-table3";
import { writeAtomically } from "../connections/process/lock.ts";
import type { Measured } from "./benchmark.ts";
import { machine, type Machine } from "./support/machine.ts";

export interface Report extends Record<string, unknown> {
  benchmark: string;
  quick: boolean;
  command: string;
  commit: string | null;
  date: string;
  seconds: number;
  machine: Machine;
}

/**
 * One flat object: what and where, then the figures by the names of the specification, then why any
 * are null.
 */
export function reportOf(
  run: { benchmark: string; quick: boolean; command: string; commit: string | null; seconds: number; date: Date },
  { figures, reasons = {} }: Measured,
): Report {
  return {
    ...run,
    date: run.date.toISOString(),
    seconds: Math.round(run.seconds * 10) / 10,
    machine: machine(),
    ...figures,
    ...(Object.keys(reasons).length === 0 ? {} : { reasons }),
  };
}

/** Figures one a row; nested ones by their path, lists of objects as a table of their own. */
export function tableOf({ figures, reasons = {} }: Measured): string {
  const table = new Table({ head: ["figure", "value"], colAligns: ["left", "right"], style: { head: [], border: [] } });
  const lists: string[] = [];
  const add = (name: string, value: unknown): void => {
    if (Array.isArray(value) && value.some((item) => typeof item === "object")) lists.push(listOf(name, value));
    else if (typeof value === "object" && value !== null && !Array.isArray(value))
      for (const [key, inner] of Object.entries(value)) add(`${name}.${key}`, inner);
    else table.push([name, value === null ? `null: ${reasons[name] ?? "no reason given"}` : text(value)]);
  };
  for (const [name, value] of Object.entries(figures)) add(name, value);
  return [table.toString(), ...lists].join("\n");
}

function listOf(name: string, rows: readonly unknown[]): string {
  const records = rows.map((row) => Object.entries(row as object));
  const head = [...new Set(records.flatMap((record) => record.map(([key]) => key)))];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const record of records) {
    const values = new Map<string, unknown>(record);
    table.push(head.map((key) => text(values.get(key))));
  }
  return `${name}\n${table.toString()}`;
}

const text = (value: unknown): string =>
  typeof value === "number" || typeof value === "string" || typeof value === "boolean"
    ? String(value)
    : JSON.stringify(value ?? null);

/** A kill in the middle leaves the former report. */
export const writeReport = (file: string, report: Report): Promise<void> =>
  writeAtomically(file, `${JSON.stringify(report, null, 2)}\n`, 0o644);
