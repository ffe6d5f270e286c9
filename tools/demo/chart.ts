// Curves from 0 up for the terminal.
import asciichart from "asciichart";
import pc from "picocolors";

export interface Series {
  /** Stands behind the curve's end. */
  name: string;
  /** At least 0. */
  values: readonly number[];
  colour: "green" | "cyan";
}

export interface ChartOptions {
  /** Columns of the curves at most. */
  width: number;
  /** Steps of the axis. */
  height: number;
}

/** Lines of the chart; the axis runs from 0 to 1, or to the highest value above it. */
export function drawSeries(series: readonly Series[], { width, height }: ChartOptions): string[] {
  const colours = { green: asciichart.green, cyan: asciichart.cyan };
  const max = Math.max(1, ...series.flatMap(({ values }) => values));
  const lines = asciichart
    .plot(
      series.map(({ values }) => resample(values, width)),
      {
        ...{ min: 0, max, height },
        format: (value: number) => `    ${value.toFixed(2)} `,
        ...(pc.isColorSupported ? { colors: series.map(({ colour }) => colours[colour]) } : {}),
      },
    )
    .split("\n");
  const names = new Map<number, string[]>();
  for (const { name, colour, values } of series) {
    const row = height - Math.round(((values.at(-1) ?? 0) / max) * height);
    names.set(row, [...(names.get(row) ?? []), pc[colour](name)]);
  }
  for (const [row, ending] of names) lines[row] = `${lines[row] ?? ""} ${ending.join(", ")}`;
  return lines;
}

/** As many points as there are columns, at most and at least half; linear between the values. */
export function resample(values: readonly number[], width: number): number[] {
  if (values.length === 0) return [];
  const points = Math.max(2, Math.min(width, Math.max(values.length, Math.floor(width / 2))));
  return Array.from({ length: points }, (_, index) => {
    const position = (index * (values.length - 1)) / (points - 1);
    const low = Math.floor(position);
    const high = Math.min(values.length - 1, low + 1);
    return values[low]! + (values[high]! - values[low]!) * (position - low);
  });
}
