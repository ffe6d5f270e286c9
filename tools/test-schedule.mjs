// Divides the test files of npm test among lines that run side by side, and estimates what is left,
// from the seconds that tools/durations.json records of each file.

/** Memory of a line: a broker, a registry, a ClickHouse and the process of the tests. */
const lineBytes = 3 * 2 ** 30;

/**
 * One more than cores, as most files wait more than they compute; two at least, and no more than
 * memory holds.
 */
export const lineCount = (cores, memoryBytes) => Math.max(2, Math.min(cores + 1, Math.floor(memoryBytes / lineBytes)));

/** Seconds of a file that no run has recorded yet: the median of the others, or 10. */
export function expectedSeconds(files, recorded) {
  const known = files.flatMap((file) => recorded[file] ?? []).sort((a, b) => a - b);
  const median = known[Math.floor(known.length / 2)] ?? 10;
  return new Map(files.map((file) => [file, recorded[file] ?? median]));
}

/**
 * Longest first, each to the line that is free first. `busy`: seconds that each line is occupied
 * with other things. Returns the files of each line, longest first.
 */
export function divide(expected, busy) {
  const until = [...busy];
  const lines = busy.map(() => []);
  for (const [file, seconds] of [...expected].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))) {
    const first = until.indexOf(Math.min(...until));
    lines[first].push(file);
    until[first] += seconds;
  }
  return lines;
}

/** Early on the recorded seconds count for more than the pace of the few files that are done. */
const trustedSeconds = 60;

/**
 * `totals`: expected seconds of each line. `elapsed`: seconds since the start. Recorded seconds are
 * of another machine, so what is left is scaled by the pace of what is done. The lines share one:
 * they share the machine. What a line is at meanwhile says nothing of the pace until it is done.
 */
export function createProgress(totals, elapsed) {
  const done = totals.map(() => 0);
  const doneAt = totals.map(() => 0);
  const trusted = trustedSeconds * totals.length;
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  return {
    /** Counts what was expected to take so many seconds as done. */
    finish(line, seconds) {
      done[line] = Math.min(totals[line], done[line] + seconds);
      doneAt[line] = elapsed();
    },
    /** Seconds until the slowest line is done. */
    left() {
      const pace = (sum(doneAt) + trusted) / (sum(done) + trusted);
      const restOf = (line) => (totals[line] - done[line]) * pace - (elapsed() - doneAt[line]);
      return Math.max(0, ...totals.map((_, line) => restOf(line)));
    },
  };
}
