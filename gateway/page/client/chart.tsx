// A chart over time (uPlot), stacked or as lines, with its newest figures in words for readers who
// can't see it. Its colours are those of the theme: it is drawn again when that changes.
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { resolved } from "./colours.ts";
import { time, whole } from "./format.ts";

export interface Series {
  label: string;
  colour: string;
  /** null: nothing is known of that time. */
  values: (number | null)[];
}

interface Props {
  title: string;
  at: number[];
  series: Series[];
  stacked?: boolean;
  format: (value: number) => string;
  theme: string;
}

const height = 180;

export function Chart({ title, at, series, stacked = false, format, theme }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const key = JSON.stringify([at, series, theme]);
  useEffect(() => {
    const element = container.current;
    if (element === null || at.length === 0) return undefined;
    const chart = new uPlot(
      optionsOf({ at, series, stacked, format }, element.clientWidth),
      dataOf(at, drawn(series, stacked), stacked),
      element,
    );
    const watched = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    watched.observe(element);
    return () => {
      watched.disconnect();
      chart.destroy();
    };
  }, [key]);
  const newest = useMemo(
    () =>
      series
        .map(({ label, values }) => `${label} ${format(values.findLast((value) => value !== null) ?? 0)}`)
        .join(", "),
    [key],
  );
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {at.length === 0 ? (
        <p class="nothing">Nothing in this time.</p>
      ) : (
        <div ref={container} role="img" aria-label={`${title}; newest: ${newest}`} />
      )}
      <ul class="legend">
        {series.map(({ label, colour }) => (
          <li key={label}>
            <i style={{ background: colour }} aria-hidden="true" />
            {label}
          </li>
        ))}
      </ul>
    </figure>
  );
}

const stepOf = (at: readonly number[]): number => (at.length > 1 ? (at[1] ?? 0) - (at[0] ?? 0) : 60_000) / 1_000;

/** A step is drawn up to the next one's start, so the last one needs an end, too. */
function dataOf(at: readonly number[], values: (number | null)[][], stacked: boolean): uPlot.AlignedData {
  const seconds = at.map((one) => one / 1_000);
  if (!stacked) return [seconds, ...values];
  return [[...seconds, (seconds.at(-1) ?? 0) + stepOf(at)], ...values.map((one) => [...one, one.at(-1) ?? null])];
}

/** Stacked from the last to the first, which lies on top. */
function drawn(series: readonly Series[], stacked: boolean): (number | null)[][] {
  if (!stacked) return series.map(({ values }) => values);
  const sums: number[] = [];
  return series
    .toReversed()
    .map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + (value ?? 0))))
    .reverse();
}

function optionsOf(
  { at, series, stacked, format }: Pick<Props, "at" | "series" | "format"> & { stacked: boolean },
  width: number,
): uPlot.Options {
  const axis = { stroke: resolved("var(--quiet)"), font: "11px system-ui, sans-serif" };
  const grid = { stroke: resolved("var(--line)"), width: 1 };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    padding: [8, 22, 0, 0],
    scales: {
      // Half a step before the first and after the last, so that their marks are whole.
      ...(stacked ? {} : { x: { range: (_plot, low, high) => [low - stepOf(at) / 2, high + stepOf(at) / 2] } }),
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, ticks: { show: false }, values: (_plot, splits) => clocks(splits) },
      {
        ...axis,
        grid,
        ticks: { show: false },
        size: 52,
        values: (_plot, values) => values.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...series.map(({ label, colour }): uPlot.Series => {
        const stroke = resolved(colour);
        return {
          label,
          stroke,
          width: stacked ? 1 : 1.75,
          spanGaps: false,
          ...(stacked
            ? { points: { show: false }, fill: `${stroke}cc`, paths: uPlot.paths.stepped!({ align: 1 }) }
            : { points: { size: 5, filter: (plot, i, show) => (show ? null : alone(plot.data[i] ?? [])) } }),
        };
      }),
    ],
    ...(stacked ? { bands: series.slice(0, -1).map((_, i): uPlot.Band => ({ series: [i + 1, i + 2] })) } : {}),
  };
}

/** Values between gaps: no line goes through them, so their points are drawn in any case. */
const alone = (values: ArrayLike<number | null | undefined>): number[] => {
  const has = (i: number): boolean => (values[i] ?? null) !== null;
  return Array.from(values, (_, i) => i).filter((i) => has(i) && !has(i - 1) && !has(i + 1));
};

/** Hours and minutes; days where they are many, seconds where the minutes would repeat. */
function clocks(splits: readonly number[]): string[] {
  const isLong = (splits.at(-1) ?? 0) - (splits[0] ?? 0) > 172_800;
  const end = (splits[1] ?? Infinity) - (splits[0] ?? 0) < 60 ? undefined : -3;
  return splits.map((split) => (isLong ? whole(split * 1_000).slice(5, 10) : time(split * 1_000).slice(-8, end)));
}
