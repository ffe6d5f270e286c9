// Arms over time: share, quality, latency, cost beside always asking the most expensive arm, what
// the caches saved.
import { useMemo } from "preact/hooks";
import type { ArmStep, Overview } from "../data/port.ts";
import { Chart, type Series } from "./chart.tsx";
import { armColour } from "./colours.ts";
import { cost, count, duration, figure, share, shares } from "./format.ts";
import { useData, useSpan } from "./hooks.ts";
import { Arm, type Column, Nothing, numeric, Panel, Problem, rowHead, type Span, Stat, Table, Time } from "./parts.tsx";

const spans: readonly Span[] = [
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["6 hours", 21_600_000],
  ["24 hours", 86_400_000],
  ["7 days", 604_800_000],
  ["30 days", 2_592_000_000],
];
const everyMs = 15_000;

const sum = (steps: readonly ArmStep[], of: (step: ArmStep) => number): number =>
  steps.reduce((total, step) => total + of(step), 0);

export function Arms({ theme }: { theme: string }) {
  const { spanMs, from, setSpan } = useSpan(3_600_000);
  const { data, error } = useData<Overview>("overview", { from }, everyMs);
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Time spans={spans} value={spanMs} onChange={setSpan} />
      </form>
      <Problem error={error} />
      {data !== undefined && <Charts overview={data} theme={theme} />}
    </>
  );
}

function Charts({ overview, theme }: { overview: Overview; theme: string }) {
  const { arms, savings, from, until, stepMs } = overview;
  const view = useMemo(() => {
    const first = Math.floor(from / stepMs) * stepMs;
    const at = Array.from({ length: Math.ceil((until - first) / stepMs) }, (_, i) => first + i * stepMs);
    const names = [...new Set(arms.map(({ arm }) => arm))].filter((name) => name !== "").sort();
    const by = (name: string, of: (steps: readonly ArmStep[]) => number | null): (number | null)[] => {
      const steps = Map.groupBy(
        arms.filter(({ arm }) => arm === name),
        (step) => step.at,
      );
      return at.map((time) => (steps.has(time) ? of(steps.get(time) ?? []) : null));
    };
    const series = (of: (steps: readonly ArmStep[]) => number | null): Series[] =>
      names.map((name) => ({ label: name, colour: armColour(name), values: by(name, of) }));
    return { at, series };
  }, [overview]);
  const { at, series } = view;
  const requests = sum(arms, (step) => step.requests);
  if (requests === 0) return <Nothing>No answers in this time.</Nothing>;
  const hits = arms.filter(({ source }) => source === "cache");
  const spent = sum(arms, (step) => step.cost);
  const known = savings.filter((one) => one.alwaysLarge !== null);
  const always = known.reduce((total, one) => total + (one.alwaysLarge ?? 0), 0);
  const saved = known.reduce((total, one) => total + (one.saved ?? 0), 0);
  const rewarded = sum(arms, (step) => step.rewarded);
  const costs: Series[] = [
    { label: "spent", colour: "var(--accent)", values: running(at, savings, (one) => one.cost) },
    {
      label: "always the most expensive arm",
      colour: "var(--quiet)",
      values: running(at, savings, (one) => one.alwaysLarge ?? 0),
    },
  ];
  return (
    <>
      <dl class="stats">
        <Stat
          label="Answers"
          value={count(requests)}
          note={`${count(sum(arms, (step) => step.failed))} without an answer`}
        />
        <Stat
          label="Mean reward"
          value={rewarded === 0 ? "–" : figure(sum(arms, (step) => step.rewardSum) / rewarded)}
          note={`${count(rewarded)} rated`}
        />
        <Stat label="Spent" value={cost(spent)} note="in the currency of the prices" />
        <Stat
          label="Saved against the most expensive arm"
          value={always === 0 ? "–" : share(saved / always)}
          note={always === 0 ? "no price known yet" : `${cost(saved)} of ${cost(always)}`}
        />
        <Stat
          label="Cache hits"
          value={share(sum(hits, (step) => step.requests) / requests)}
          note={`${count(sum(hits, (step) => step.requests))}, saved ${cost(sum(hits, (step) => step.savedCost))}`}
        />
      </dl>
      <div class="charts">
        <Chart
          title="Answers by arm"
          at={at}
          stacked
          theme={theme}
          format={count}
          series={series((steps) => sum(steps, (step) => step.requests)).map((one) => ({
            ...one,
            values: one.values.map((value) => value ?? 0),
          }))}
        />
        <Chart
          title="Mean reward by arm"
          at={at}
          theme={theme}
          format={figure}
          series={series((steps) => mean(steps))}
        />
        <Chart title="Cost, summed up over the time" at={at} theme={theme} format={cost} series={costs} />
        <Chart
          title="Median time of an answer"
          at={at}
          theme={theme}
          format={duration}
          series={series((steps) => slowest(steps))}
        />
      </div>
      <Panel title="By arm">
        <Table rows={rowsOf(arms)} columns={armColumns} keyOf={({ name }) => name} />
      </Panel>
      {overview.prefill.length > 0 && <Prefill rows={overview.prefill} />}
    </>
  );
}

const byArm = (name: string, arms: readonly ArmStep[]) => {
  const own = arms.filter(({ arm }) => arm === name);
  return {
    ...{ name, answers: sum(own, (step) => step.requests), failed: sum(own, (step) => step.failed) },
    ...{ rated: sum(own, (step) => step.rewarded), cost: sum(own, (step) => step.cost), reward: mean(own) },
    cached: sum(own, (step) => (step.source === "cache" ? step.requests : 0)),
  };
};

/** All answers are in a row, those of no arm too: the shares add up. */
function rowsOf(arms: readonly ArmStep[]): (ReturnType<typeof byArm> & { part: string })[] {
  const rows = [...new Set(arms.map(({ arm }) => arm))].toSorted().map((name) => byArm(name, arms));
  const parts = shares(rows.map(({ answers }) => answers));
  return rows.map((row, i) => ({ ...row, part: parts[i] ?? "" }));
}

const armColumns: Column<ReturnType<typeof rowsOf>[number]>[] = [
  ["Arm", ({ name }) => (name === "" ? <span class="quiet">no arm</span> : <Arm name={name} />), rowHead],
  ["Answers", ({ answers }) => count(answers), numeric],
  ["Share", ({ part }) => part, numeric],
  ["From cache", ({ cached }) => count(cached), numeric],
  ["Failed", ({ failed }) => count(failed), numeric],
  ["Mean reward", ({ reward }) => figure(reward), numeric],
  ["Rated", ({ rated }) => count(rated), numeric],
  ["Cost", (row) => cost(row.cost), numeric],
];

const Prefill = ({ rows }: { rows: Overview["prefill"] }) => (
  <Panel title="Linked prefill" note="Tokens of prompts, by what was computed of them.">
    <Table
      rows={rows}
      keyOf={({ arm }) => arm}
      columns={[
        ["Arm", ({ arm }) => <Arm name={arm} />, rowHead],
        ["Prompt", ({ prompt }) => count(prompt), numeric],
        ["Linked", ({ linked }) => count(linked), numeric],
        ["Computed again", ({ recomputed }) => count(recomputed), numeric],
        ["As usual", ({ prefilled }) => count(prefilled), numeric],
      ]}
    />
  </Panel>
);

function mean(steps: readonly ArmStep[]): number | null {
  const rewarded = sum(steps, (step) => step.rewarded);
  return rewarded === 0 ? null : sum(steps, (step) => step.rewardSum) / rewarded;
}

/** The slowest of what the arm made itself. */
function slowest(steps: readonly ArmStep[]): number | null {
  const own = steps.filter(({ source }) => source !== "cache");
  return own.length === 0 ? null : Math.max(...own.map(({ medianMs }) => medianMs));
}

function running<T extends { at: number }>(
  at: readonly number[],
  rows: readonly T[],
  of: (row: T) => number,
): number[] {
  const byTime = new Map(rows.map((row) => [row.at, of(row)]));
  let total = 0;
  return at.map((time) => (total += byTime.get(time) ?? 0));
}
