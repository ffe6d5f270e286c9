// Charts of arms over a time, from the steps of an overview.
import { useMemo } from "preact/hooks";
import type { ArmStep, Overview } from "../data/types/overview.ts";
import { Chart, type Series } from "./chart.tsx";
import { armColour } from "./colours.ts";
import { cost, count, duration, figure } from "./format.ts";

interface Props {
  found: Overview;
  theme: string;
}

export function Answers({ found, theme }: Props) {
  const { at, series } = useSteps(found);
  const values = series((steps) => sum(steps, ({ answers }) => answers), 0);
  return <Chart title="Answers by arm" at={at} stacked theme={theme} format={count} series={values} />;
}

/** One value per step. */
export function Costs({ found, theme }: Props) {
  const { at, series } = useSteps(found);
  const values = series((steps) => sum(steps, (step) => step.cost), 0);
  return <Chart title="Cost by arm" at={at} stacked theme={theme} format={cost} series={values} />;
}

/** The slowest source of each arm's own answers. */
export function Latencies({ found, theme }: Props) {
  const { at, series } = useSteps(found);
  const values = series((steps) => {
    const own = steps.flatMap(({ source, p95Ms }) => (source === "cache" || p95Ms === null ? [] : [p95Ms]));
    return own.length === 0 ? null : Math.max(...own);
  });
  return <Chart title="95 of 100 answers took at most" at={at} theme={theme} format={duration} series={values} />;
}

export function Rewards({ found, theme }: Props) {
  const { at, names } = useSteps(found);
  const means = new Map(found.rewards.map((one) => [`${one.at} ${one.arm}`, one.mean]));
  const series = names.map((name) => ({
    label: name,
    colour: armColour(name),
    values: at.map((one) => means.get(`${one} ${name}`) ?? null),
  }));
  return <Chart title="Mean reward by arm" at={at} theme={theme} format={figure} series={series} />;
}

const sum = (steps: readonly ArmStep[], of: (step: ArmStep) => number): number =>
  steps.reduce((total, step) => total + of(step), 0);

/** nothing: value of a step without answers of the arm. */
type Of = (of: (steps: readonly ArmStep[]) => number | null, nothing?: number) => Series[];

function useSteps(found: Overview): { at: number[]; names: string[]; series: Of } {
  return useMemo(() => {
    const { steps, from, until, stepMs } = found;
    // ClickHouse chooses where steps begin: weeks begin on a Monday.
    const first = steps[0] === undefined ? Math.floor(from / stepMs) * stepMs : firstOf(steps[0].at, from, stepMs);
    const at = Array.from({ length: Math.max(1, Math.ceil((until - first) / stepMs)) }, (_, i) => first + i * stepMs);
    const names = [...new Set(steps.map(({ arm }) => arm))].filter((name) => name !== "").toSorted();
    const byPlace = Map.groupBy(steps, (step) => `${step.at} ${step.arm}`);
    const series: Of = (of, nothing) =>
      names.map((name) => ({
        label: name,
        colour: armColour(name),
        values: at.map((one) => {
          const there = byPlace.get(`${one} ${name}`);
          return there === undefined ? (nothing ?? null) : of(there);
        }),
      }));
    return { at, names, series };
  }, [found]);
}

/** The step that contains `from`, counted back from an existing step. */
const firstOf = (known: number, from: number, stepMs: number): number =>
  known - Math.ceil(Math.max(0, known - from) / stepMs) * stepMs;
