// Rows of a file that were left out, wholly or in part: by reason, with the first of each.

export type LeftOut = ReturnType<typeof createLeftOut>;

const most = { reasons: 50, rows: 5 };
const others = "other reasons";

export function createLeftOut() {
  const found = new Map<string, { count: number; rows: number[] }>();
  let count = 0;
  return {
    add(reason: string, row: number): void {
      count++;
      const name = found.has(reason) || found.size < most.reasons ? reason : others;
      const known = found.get(name) ?? { count: 0, rows: [] };
      found.set(name, known);
      known.count++;
      if (known.rows.length < most.rows) known.rows.push(row);
    },
    get count(): number {
      return count;
    },
    /** A line for each reason, the most frequent first. */
    describe: (): string[] =>
      [...found]
        .sort(([, a], [, b]) => b.count - a.count || a.rows[0]! - b.rows[0]!)
        .map(([reason, { count: times, rows }]) => {
          const where = `${times === 1 ? "row" : "rows"} ${rows.join(", ")}${times > rows.length ? ", ..." : ""}`;
          return `  ${times}: ${reason} (${where})`;
        }),
  };
}
