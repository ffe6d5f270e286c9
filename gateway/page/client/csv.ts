// The shown list of requests as CSV, with unrounded figures.
import type { RequestRow } from "../data/port.ts";

const columns = [
  ...[
    "createdAt",
    "id",
    "tenant",
    "domain",
    "user",
    "session",
    "tags",
    "question",
    "answer",
    "state",
    "errorCode",
    "arm",
  ],
  ...["source", "probability", "score", "examples", "promptTokens", "completionTokens", "cost", "firstTokenMs"],
  ...["totalMs", "reward"],
] as (keyof RequestRow)[];

/** RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
function cellOf(value: RequestRow[keyof RequestRow]): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : value.join(" ");
  return `"${(/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

export const csvOf = (rows: readonly RequestRow[]): string =>
  [
    columns.join(","),
    ...rows.map((row) =>
      columns.map((name) => cellOf(name === "createdAt" ? new Date(row.createdAt).toISOString() : row[name])).join(","),
    ),
    "",
  ].join("\r\n");

export function saveCsv(rows: readonly RequestRow[]): void {
  const url = URL.createObjectURL(new Blob([csvOf(rows)], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: "requests.csv" });
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
