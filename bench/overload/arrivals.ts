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

/**
 * times: of a trace, ascending; begun again when they end. Phases follow each other; each has the
 * next gaps of the trace, as many as its rate asks for, stretched to fill it.
 */
export function arrivalsOf(times: readonly number[], phases: readonly Phase[]): Arrival[] {
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  let next = 0;
  let begin = 0;
  return phases.flatMap(({ name, seconds, rate }) => {
    const own = Array.from({ length: Math.round(seconds * rate) }, () => gaps[next++ % gaps.length]!);
    const all = own.reduce((sum, gap) => sum + gap, 0);
    if (!(all > 0)) throw new RangeError(`the trace has no gaps for ${own.length} requests ${name} the overload`);
    let atMs = begin;
    begin += 1_000 * seconds;
    // The first comes at once, the last gap ends with the phase.
    return own.map((gap): Arrival => {
      const arrival = { phase: name, atMs };
      atMs += (1_000 * seconds * gap) / all;
      return arrival;
    });
  });
}
