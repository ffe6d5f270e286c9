// When the requests of the overload benchmark come: the gaps between the arrivals of a trace, in
// its order, stretched so that each phase has its rate. The trace's bursts stay. Pure.

export interface Phase {
  name: string;
  seconds: number;
  /** Requests a second, on average. */
  rate: number;
}

export interface Arrival {
  phase: string;
  /** Milliseconds from the beginning, ascending. */
  atMs: number;
}

/**
 * Arrival times (milliseconds) of a trace in Azure's form: a head, then TIMESTAMP in the first
 * column. Throws an error for people with the row that has none.
 */
export function parseTrace(text: string, file: string): number[] {
  const rows = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const times = rows.slice(1).map((row, i) => {
    const cell = row.split(",")[0]!.trim();
    const time = Date.parse(`${cell.replace(" ", "T").replace(/(\.\d{3})\d*$/, "$1")}Z`);
    if (Number.isNaN(time)) throw new Error(`${file}, row ${i + 2}: "${cell.slice(0, 40)}" is no time`);
    return time;
  });
  if (times.length < 2) throw new Error(`${file} has ${times.length} arrivals: at least 2 are needed`);
  return times.sort((one, other) => one - other);
}

/** times: of a trace, ascending; begun again when they end. Phases follow each other. */
export function arrivalsOf(times: readonly number[], phases: readonly Phase[]): Arrival[] {
  const usualGap = (times.at(-1)! - times[0]!) / (times.length - 1);
  if (!(usualGap > 0)) throw new RangeError("all arrivals of the trace are at one time: it has no gaps");
  const arrivals: Arrival[] = [];
  let next = 1;
  let begin = 0;
  for (const { name, seconds, rate } of phases) {
    const end = begin + 1_000 * seconds;
    for (let atMs = begin; ; next = next + 1 < times.length ? next + 1 : 1) {
      atMs += ((times[next]! - times[next - 1]!) / usualGap) * (1_000 / rate);
      if (atMs >= end) break;
      arrivals.push({ phase: name, atMs });
    }
    begin = end;
  }
  return arrivals;
}
