// With --only ours the peers have no figures in the run: those that the result file has from an
// earlier run go along in it, under that run's name, so that they are neither lost nor taken for
// figures of this one.
import { readFile } from "node:fs/promises";

/** What was measured of the peers by an earlier run, and by which. */
export interface RecordedPeers {
  commit: unknown;
  date: unknown;
  machine: unknown;
  /** One a collection of vectors: its name and the figures of hnswlib and usearch. */
  rows: Record<string, unknown>[];
}

/** null where no run has measured them. */
export function recordedPeersOf(report: Record<string, unknown>): RecordedPeers | null {
  // The report of a run that skipped the peers carries earlier figures.
  if (report["recorded_peers"]) return report["recorded_peers"] as RecordedPeers;
  const rows = Array.isArray(report["rows"]) ? (report["rows"] as Record<string, unknown>[]) : [];
  const ofPeers = rows
    .map((row) => Object.fromEntries(Object.entries(row).filter(([name, value]) => isPeers(name) && value !== null)))
    .map((figures, i) => ({ data: rows[i]!["data"], ...figures }))
    .filter((row) => Object.keys(row).length > 1);
  const { commit, date, machine } = report;
  return ofPeers.length === 0 ? null : { commit, date, machine, rows: ofPeers };
}

const isPeers = (figure: string): boolean => /^(hnswlib|usearch)_/.test(figure);

/** From the recorded result; null where there is none. */
export async function recordedPeers(): Promise<RecordedPeers | null> {
  const file = new URL("../results/selection.json", import.meta.url);
  const text = await readFile(file, "utf8").catch(() => null);
  return text === null ? null : recordedPeersOf(JSON.parse(text) as Record<string, unknown>);
}
