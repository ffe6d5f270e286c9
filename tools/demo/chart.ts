// A curve of values in [0, 1] for the terminal.
import asciichart from "asciichart";
import pc from "picocolors";

export interface ChartOptions {
  /** Columns of the curve at most. */
  width: number;
  colour: "green" | "cyan";
  /** Steps of the axis. */
  height: number;
}

/** Lines of the chart; the axis runs from 0 to 1. */
export function drawSeries(values: readonly number[], { width, colour, height }: ChartOptions): string[] {
  const colours = { green: asciichart.green, cyan: asciichart.cyan };
  return asciichart
    .plot(resample(values, width), {
      min: 0,
      max: 1,
      height,
      format: (value: number) => `    ${value.toFixed(2)} `,
      ...(pc.isColorSupported ? { colors: [colours[colour]] } : {}),
    })
    .split("\n");
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
