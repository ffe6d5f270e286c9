// What runs, how far it is behind, and how fresh the tables are.
import type { Health as Found } from "../data/types/health.ts";
import { ago, count, whole } from "./format.ts";
import { linkTo, useData } from "./hooks.ts";
import { Arm, Nothing, Panel, Problem, Stat } from "./parts.tsx";
import { aged, numeric, rowHead, Table } from "./table.tsx";

const behindOf = (lag: number | null) => (lag === null ? <span class="quiet">not read yet</span> : count(lag));

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
        <Stat
          label="Open breakers"
          value={count(new Set(data.breakers.map(({ arm }) => arm)).size)}
          note="arms that are not called"
        />
        <Stat
          label="Dead letters"
          value={count(data.deadLetters.reduce((sum, one) => sum + one.count, 0))}
          note="in a week"
        />
      </dl>
      {data.breakers.length > 0 && (
        <Panel title="Breakers" note="An arm that keeps failing is left out and tried again by itself.">
          <Table
            rows={data.breakers}
            keyOf={({ arm, instance }) => `${arm}/${instance}`}
            columns={[
              ["Arm", ({ arm }) => <Arm name={arm} />, rowHead],
              ["State", ({ state }) => <strong class="bad">{state}</strong>],
              ["Process", ({ instance }) => <code>{instance}</code>],
            ]}
          />
        </Panel>
      )}
      {data.deadLetters.length > 0 && (
        <Panel
          title="Dead letters"
          note="Records of the last week that could not be processed and were not sent again."
        >
          <Table
            scrolls="Dead letters"
            rows={data.deadLetters}
            keyOf={(one) => `${one.topic}/${one.stage}/${one.code}`}
            columns={[
              aged("Newest", "newest"),
              [
                "Topic",
                ({ topic, stage, code }) => (
                  <a data-row="" href={linkTo("letters", { topic, stage, code })}>
                    {topic}
                  </a>
                ),
              ],
              ["Stage", ({ stage }) => stage],
              ["Code", ({ code }) => <code>{code}</code>],
              ["Reason", ({ reason }) => <bdi>{reason}</bdi>, { class: "text" }],
              ["Records", (one) => count(one.count), numeric],
            ]}
          />
        </Panel>
      )}
      <div class="columns">
        <Panel
          title="Stages"
          note="Records behind a stage's position; the gateway, learn and curate have none. Markers of transactions count as records, so that a stage that is done may be a few behind."
        >
          <Table
            rows={data.stages}
            keyOf={(row) => `${row.stage}/${row.topic}`}
            columns={[
              ["Stage", ({ stage }) => stage, rowHead],
              ["Topic", ({ topic }) => topic],
              ["Processes", ({ members }) => (members === 0 ? <strong class="bad">none</strong> : members), numeric],
              ["Behind", ({ topic, lag }) => (topic === "" ? "" : behindOf(lag)), numeric],
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
                aged("Newest row", "newest"),
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
