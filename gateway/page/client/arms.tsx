// Arms: what each answered, cost, was worth and how long it took; what its KV caches saved.
import { useMemo } from "preact/hooks";
import type { Health } from "../data/types/health.ts";
import type { Overview } from "../data/types/overview.ts";
import { Answers, Costs, Latencies, Rewards } from "./arm-charts.tsx";
import { cost, count, duration, share, withShares } from "./format.ts";
import { linkTo, useData, useQuery } from "./hooks.ts";
import { Mean } from "./overview-tables.tsx";
import { Arm, Nothing, Panel, Problem } from "./parts.tsx";
import { armColumn, type Column, numeric, rowHead, Table } from "./table.tsx";
import { NameFields, narrowedBy, periodOf, rangeOf, TimeFields } from "./range.tsx";
import type { Names } from "../data/names.ts";

const everyMs = 15_000;

export function Arms({ names, theme }: { names: Names; theme: string }) {
  const [query, set] = useQuery();
  const range = useMemo(() => rangeOf(query, Date.now()), [query.toString()]);
  const asked = periodOf(range);
  const narrowed = narrowedBy(query);
  const { data, error } = useData<Overview>("overview", { ...asked, ...narrowed }, range.isLive ? everyMs : undefined);
  const health = useData<Health>("health", {}, everyMs);
  const open = new Map(health.data?.breakers.map((one) => [one.arm, one.state]));
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <TimeFields query={query} set={set} range={range} />
        <NameFields names={names} query={query} set={set} />
      </form>
      <Problem error={error} />
      {data !== undefined &&
        (data.now.answers === 0 ? (
          <Nothing>No answers in this time.</Nothing>
        ) : (
          <>
            <div class="charts">
              <Answers found={data} theme={theme} />
              <Rewards found={data} theme={theme} />
              <Latencies found={data} theme={theme} />
              <Costs found={data} theme={theme} />
            </div>
            <Panel title="By arm">
              <Table
                scrolls="Arms"
                rows={withShares(data.arms, ({ answers }) => answers)}
                columns={columnsOf((arm) => linkTo("requests", { ...narrowed, ...asked, arm }), open, health.data)}
                keyOf={({ arm }) => arm}
              />
            </Panel>
            <Prefill arms={data.arms.filter(({ linkedTokens }) => linkedTokens > 0)} />
          </>
        ))}
      <Replicas replicas={health.data?.replicas ?? []} />
    </>
  );
}

const columnsOf = (
  to: (arm: string) => string,
  open: ReadonlyMap<string, string>,
  health: Health | undefined,
): Column<Overview["arms"][number] & { part: string }>[] => [
  armColumn(to, true),
  ["Answers", ({ answers }) => count(answers), numeric],
  ["Share", ({ part }) => part, numeric],
  ["From caches", ({ cacheHits }) => count(cacheHits), numeric],
  ["Failed", ({ failed, answers }) => (failed === 0 ? "0" : `${count(failed)} (${share(failed / answers)})`), numeric],
  ["p50", ({ p50Ms }) => duration(p50Ms), numeric],
  ["p95", ({ p95Ms }) => duration(p95Ms), numeric],
  ["p99", ({ p99Ms }) => duration(p99Ms), numeric],
  ["First token, p50", ({ firstTokenP50Ms }) => duration(firstTokenP50Ms), numeric],
  ["Quality", ({ quality }) => <Mean of={quality} />, numeric],
  ["Ratings", ({ quality }) => count(quality.rated), numeric],
  ["Cost", (row) => cost(row.cost), numeric],
  [
    "Processes",
    ({ arm }) => processesOf(arm, health),
    { isNumber: true, title: "Processes that generate with it; inline arms answer in the processes of plan." },
  ],
  [
    "Load",
    ({ arm }) => share(health?.load.find((one) => one.arm === arm)?.load),
    { isNumber: true, title: "Unfinished requests over slots, or what its engine says." },
  ],
  [
    "Breaker",
    ({ arm }) => {
      const state = open.get(arm);
      return arm === "" ? "" : state === undefined ? "closed" : <strong class="bad">{state}</strong>;
    },
  ],
];

/** Each queued arm has a stage of its own. */
function processesOf(arm: string, health: Health | undefined): string {
  const own = health?.stages.find(({ stage }) => stage === `generate.${arm}`);
  const plan = health?.stages.find(({ stage }) => stage === "plan");
  const members = (own ?? plan)?.members;
  return arm === "" || members === undefined ? "" : own === undefined ? `${members} (inline)` : String(members);
}

const Prefill = ({ arms }: { arms: Overview["arms"] }) =>
  arms.length === 0 ? null : (
    <Panel
      title="Linked prefill"
      note="Tokens of prompts, by what was computed of them. Hit share: linked of prompt. It rises while caches are made."
    >
      <Table
        rows={arms}
        keyOf={({ arm }) => arm}
        columns={[
          ["Arm", ({ arm }) => <Arm name={arm} />, rowHead],
          ["Prompt", ({ promptTokens }) => count(promptTokens), numeric],
          ["Linked", ({ linkedTokens }) => count(linkedTokens), numeric],
          ["Hit share", ({ linkedTokens, promptTokens }) => share(linkedTokens / promptTokens), numeric],
          ["Computed again", ({ recomputedTokens }) => count(recomputedTokens), numeric],
          ["As usual", ({ prefilledTokens }) => count(prefilledTokens), numeric],
        ]}
      />
    </Panel>
  );

const Replicas = ({ replicas }: Pick<Health, "replicas">) =>
  replicas.length === 0 ? null : (
    <Panel
      title="Replicas"
      note="As the processes that called the arm in the last half minute see them. Running, waiting and KV cache are the engine's own figures, other clients' requests included."
    >
      <Table
        rows={replicas}
        keyOf={({ arm, name }) => `${arm}/${name}`}
        scrolls="Replicas"
        columns={[
          ["Replica", ({ name }) => <code>{name}</code>, rowHead],
          ["Arm", ({ arm }) => <Arm name={arm} />],
          [
            "State",
            ({ without, processes }) =>
              without === 0 ? (
                "in use"
              ) : (
                <strong class="bad">{`left out by ${without} of ${processes} processes`}</strong>
              ),
          ],
          ["Calls under way", ({ calls }) => count(calls), numeric],
          ["Running", ({ running }) => (running === null ? "–" : count(running)), numeric],
          ["Waiting", ({ waiting }) => (waiting === null ? "–" : count(waiting)), numeric],
          ["KV cache", ({ cacheUsage }) => (cacheUsage === null ? "–" : share(cacheUsage)), numeric],
        ]}
      />
    </Panel>
  );
