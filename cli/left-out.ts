// Rows of a file that were left out, wholly or in part: by reason, with the first of each.

export interface LeftOut {
  add(reason: string, row: number): void;
  readonly count: number;
  /** A line for each reason, the most frequent first. */
  describe(): string[];
}

const most = { reasons: 50, rows: 5 };
const others = "other reasons";

export function createLeftOut(): LeftOut {
  const found = new Map<string, { count: number; rows: number[] }>();
  let count = 0;
  return {
    add(reason, row) {
      count++;
      const name = found.has(reason) || found.size < most.reasons ? reason : others;
      const known = found.get(name) ?? { count: 0, rows: [] };
      found.set(name, known);
      known.count++;
      if (known.rows.length < most.rows) known.rows.push(row);
    },
    get count() {
      return count;
    },
    describe: () =>
      [...found]
        .sort(([, a], [, b]) => b.count - a.count || a.rows[0]! - b.rows[0]!)
        .map(([reason, { count: times, rows }]) => {
          const where = `${times === 1 ? "row" : "rows"} ${rows.join(", ")}${times > rows.length ? ", ..." : ""}`;
          return `  ${times}: ${reason} (${where})`;
        }),
  };
}
