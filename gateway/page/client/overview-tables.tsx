// The overview's tables: owners of the cost, shares of the arms, causes of failures, what was
// learnt.
import { useState } from "preact/hooks";
import type { OwnerList } from "../data/owners.ts";
import type { Overview as Found } from "../data/types/overview.ts";
import { cost, count, duration, figure, time, whole, withShares } from "./format.ts";
import { linkTo, useData } from "./hooks.ts";
import { Nothing, Panel, Problem } from "./parts.tsx";
import { armColumn, numeric, rowHead, Table } from "./table.tsx";
import { errorWord } from "./words.ts";

/** In the period that is shown; `linked` has the filters. */
export function Owners({ found: { from, until }, linked }: { found: Found; linked: Record<string, string | number> }) {
  const [by, setBy] = useState("tenant");
  const { last: _last, ...filters } = linked;
  const { data, error } = useData<OwnerList>("owners", { ...filters, from, until, by });
  return (
    <Panel
      title="Where it comes from"
      note={
        data === undefined || data.found <= data.rows.length
          ? undefined
          : `The ${count(data.rows.length)} most expensive of ${count(data.found)}; shares are of those.`
      }
    >
      <Problem error={error} />
      <p>
        <label>
          By{" "}
          <select value={by} onChange={({ currentTarget: { value } }) => setBy(value)}>
            <option value="tenant">tenant</option>
            <option value="domain">domain</option>
            <option value="key">key</option>
          </select>
        </label>
      </p>
      <Table
        rows={withShares(data?.rows ?? [], (row) => row.cost)}
        keyOf={({ name }) => name}
        columns={[
          [
            "Name",
            ({ name }) =>
              name === "" ? (
                <span class="quiet">none</span>
              ) : (
                <a href={linkTo("requests", { ...linked, [by]: name })}>
                  <bdi>{name}</bdi>
                </a>
              ),
            rowHead,
          ],
          ["Answers", ({ answers }) => count(answers), numeric],
          ["Failed", ({ failed }) => count(failed), numeric],
          ["Cost", (row) => cost(row.cost), numeric],
          ["Share of cost", ({ part }) => part, numeric],
          ["p95", ({ p95Ms }) => duration(p95Ms), numeric],
        ]}
      />
    </Panel>
  );
}

/** A mean of rewards with its 95 % interval. */
export const Mean = ({ of: { mean, reach } }: { of: Found["now"]["quality"] }) => (
  <>
    {figure(mean)}
    {mean !== null && reach !== null && <span class="quiet"> ± {figure(reach)}</span>}
  </>
);

type To = (more?: Record<string, string>) => string;

export function ArmShares({ found: { arms }, to }: { found: Found; to: To }) {
  return (
    <Table
      rows={withShares(arms, ({ answers }) => answers)}
      keyOf={({ arm }) => arm}
      columns={[
        armColumn((arm) => to({ arm })),
        ["Answers", ({ answers }) => count(answers), numeric],
        ["Share", ({ part }) => part, numeric],
        ["Cost", (row) => cost(row.cost), numeric],
        ["p95", ({ p95Ms }) => duration(p95Ms), numeric],
        ["Quality", ({ quality }) => <Mean of={quality} />, numeric],
      ]}
    />
  );
}

export function Errors({ found: { errors }, to }: { found: Found; to: To }) {
  if (errors.length === 0) return <Nothing>Every request was answered.</Nothing>;
  return (
    <Table
      rows={withShares(errors, ({ answers }) => answers)}
      keyOf={({ code }) => code}
      columns={[
        ["Cause", ({ code }) => <a href={to({ error: code })}>{errorWord(code)}</a>, { class: "text" }],
        ["Code", ({ code }) => <code>{code}</code>],
        ["Requests", ({ answers }) => count(answers), numeric],
        ["Share", ({ part }) => part, numeric],
      ]}
    />
  );
}

export function Learnt({ found: { learnt } }: { found: Found }) {
  return (
    <Panel
      title="Learnt in this time"
      note="Quality: the mean reward of the answers that a version of the router chose, with its 95 % interval."
    >
      <Table
        none="Nothing was published in this time. Versions follow from feedback on answers."
        rows={learnt}
        keyOf={({ name, version }) => `${name} ${version}`}
        columns={[
          [
            "Policy",
            ({ name, version }) => (
              <a href={linkTo("policies", { name })}>
                {name} {version}
              </a>
            ),
            rowHead,
          ],
          ["Published", ({ createdAt }) => time(createdAt), { hint: ({ createdAt }) => whole(createdAt) }],
          ["", ({ revertOf }) => (revertOf === null ? "" : `repeats version ${revertOf}`), { isHidden: true }],
          ["Quality", ({ quality }) => (quality === null ? "" : <Mean of={quality} />), numeric],
          [
            "Against the version before",
            ({ quality, before }) => <Difference now={quality} before={before} />,
            numeric,
          ],
        ]}
      />
    </Panel>
  );
}

/** Two independent means: their intervals add up as variances. */
function Difference({
  now,
  before,
}: {
  now: Found["learnt"][number]["quality"];
  before: Found["learnt"][number]["before"];
}) {
  if (now === null || before === null || now.mean === null || before.mean === null) return null;
  const by = now.mean - before.mean;
  const reach = now.reach === null || before.reach === null ? null : Math.hypot(now.reach, before.reach);
  return (
    <>
      {by > 0 ? "+" : ""}
      {figure(by)}
      {reach !== null && <span class="quiet"> ± {figure(reach)}</span>}
    </>
  );
}
