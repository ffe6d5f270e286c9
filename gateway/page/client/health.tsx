// What runs, how far it is behind, and how fresh the tables are.
import type { Health as Found } from "../data/port.ts";
import { ago, count, whole } from "./format.ts";
import { useData } from "./hooks.ts";
import { Nothing, numeric, Panel, Problem, rowHead, Stat, Table } from "./parts.tsx";

export function Health() {
  const { data, error } = useData<Found>("health", {}, 5_000);
  if (data === undefined) return error === undefined ? <Nothing>…</Nothing> : <Problem error={error} />;
  const behind = data.stages.reduce((sum, { lag }) => sum + (lag ?? 0), 0);
  const idle = new Set(data.stages.flatMap(({ stage, members }) => (members === 0 ? [stage] : [])));
  return (
    <>
      <Problem error={error} />
      {data.problems.map((problem) => (
        <p key={problem} class="problem" role="alert">
          {problem}
        </p>
      ))}
      <dl class="stats">
        <Stat label="Behind" value={count(behind)} note="records, over all stages" />
        <Stat label="Stages without a process" value={idle.size} note={[...idle].join(", ")} />
        <Stat label="Stuck partitions" value={data.stuck.length} note="behind an open transaction" />
        <Stat
          label="Last answer"
          value={ago(data.tables.find(({ table }) => table === "responses")?.newest ?? null)}
          note="as recorded"
        />
      </dl>
      <div class="columns">
        <Panel
          title="Stages"
          note="Records behind a stage's position. Markers of transactions count as records, so that a stage that is done may be a few behind."
        >
          <Table
            rows={data.stages}
            keyOf={(row) => `${row.stage}/${row.topic}`}
            columns={[
              ["Stage", ({ stage }) => stage, rowHead],
              ["Topic", ({ topic }) => topic],
              ["Processes", ({ members }) => (members === 0 ? <strong class="bad">none</strong> : members), numeric],
              ["Behind", ({ lag }) => (lag === null ? <span class="quiet">not read yet</span> : count(lag)), numeric],
            ]}
          />
        </Panel>
        <div>
          <Panel title="Tables" note="Of the last week.">
            <Table
              rows={data.tables}
              keyOf={({ table }) => table}
              columns={[
                ["Table", ({ table }) => table, rowHead],
                [
                  "Newest row",
                  ({ newest }) => ago(newest),
                  {
                    hint: ({ newest }) => (newest === null ? undefined : whole(newest)),
                  },
                ],
                ["Rows of the last hour", ({ lastHour }) => count(lastHour), numeric],
              ]}
            />
          </Panel>
          {data.stuck.length > 0 && (
            <Panel
              title="Stuck"
              note="An open transaction keeps what is behind it from readers: precedent doctor says more."
            >
              <ul class="plain">
                {data.stuck.map((one) => (
                  <li key={`${one.topic}/${one.partition}`}>
                    {one.topic} {one.partition}, since {whole(one.since)}
                  </li>
                ))}
              </ul>
            </Panel>
          )}
        </div>
      </div>
    </>
  );
}
