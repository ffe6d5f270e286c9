// The shown list of requests as CSV, with unrounded figures.
import type { RequestRow } from "../data/types/requests.ts";

/** Members of a row in each column of the list. */
const members: Readonly<Record<string, readonly (keyof RequestRow)[]>> = {
  Time: ["createdAt"],
  Request: ["id", "question", "answer"],
  Tenant: ["tenant", "domain"],
  User: ["user", "session"],
  Tags: ["tags"],
  Arm: ["arm", "source"],
  p: ["probability"],
  Score: ["score"],
  "Ex.": ["examples"],
  Tokens: ["promptTokens", "completionTokens"],
  Cost: ["cost"],
  "First token": ["firstTokenMs"],
  Total: ["totalMs"],
  Reward: ["reward"],
  State: ["state", "errorCode"],
};

/** RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
function cellOf(value: RequestRow[keyof RequestRow]): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : value.join(" ");
  return `"${(/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

/** names: those of the shown columns. */
export function csvOf(rows: readonly RequestRow[], names: readonly string[]): string {
  const columns = names.flatMap((name) => members[name] ?? []);
  const lines = rows.map((row) =>
    columns.map((name) => cellOf(name === "createdAt" ? new Date(row.createdAt).toISOString() : row[name])).join(","),
  );
  return [columns.join(","), ...lines, ""].join("\r\n");
}

export function saveCsv(rows: readonly RequestRow[], names: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([csvOf(rows, names)], { type: "text/csv" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: "requests.csv" });
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
