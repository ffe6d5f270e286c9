// The chart in docs/: what the newest whole run and the newest run of the passages measured.
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chartOf } from "./chart.ts";
import type { Row } from "./figures.ts";

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const titles: Readonly<Record<string, string>> = {
  "nl2bash-10": "10 examples",
  "musique-200": "5 passages of 200 tokens",
  "musique-512": "4 passages of 512 tokens",
};

/** What one run measured now; of the other the result file is read. */
export async function drawChart({ all, passages }: { all?: readonly Row[]; passages?: readonly Row[] }): Promise<void> {
  const rows = panelsOf(all ?? (await kept("linked")), passages ?? (await kept("linked-passages")));
  await writeFile(file("docs/linked-prefill.svg"), chartOf(rows, titles));
}

/**
 * A panel of one chart is of one run: where passages were asked more often, all of it is theirs.
 */
export function panelsOf(all: readonly Row[], passages: readonly Row[]): Row[] {
  const panel = ({ workload, convention }: Row): string => `${workload} ${convention}`;
  const own = new Set(passages.filter(({ convention }) => convention !== null).map(panel));
  return [...all.filter((row) => !own.has(panel(row))), ...passages];
}

async function kept(name: string): Promise<Row[]> {
  const path = file(`bench/results/${name}.json`);
  if (!existsSync(path)) return [];
  return (JSON.parse(await readFile(path, "utf8")) as { rows: Row[] }).rows;
}
