// The overview: what a time cost, saved, was worth and how long it took, beside as long a time
// before. Every figure leads to the requests behind it.
import { useMemo, useState } from "preact/hooks";
import type { OwnerKind, OwnerList } from "../data/owners.ts";
import type { Health, Overview as Found } from "../data/port.ts";
import { Answers, Costs } from "./arm-charts.tsx";
import { Empty } from "./empty.tsx";
import { cost, count, duration, figure, share, shares, time, whole } from "./format.ts";
import { linkTo, useData, useQuery } from "./hooks.ts";
import { Arm, Nothing, numeric, Panel, Problem, rowHead, Stat, Table } from "./parts.tsx";
import { NameFields, narrowedBy, rangeOf, TimeFields, type Range } from "./range.tsx";
import type { Names } from "../data/names.ts";
import { baselineOf, saved } from "./savings.ts";
import { errorWord } from "./words.ts";

const everyMs = 15_000;

export function Overview({ names, theme }: { names: Names; theme: string }) {
  const [query, set] = useQuery();
  const range = useMemo(() => rangeOf(query, Date.now()), [query.toString()]);
  const span = range.until - range.from;
  const asked = range.isLive ? { last: span } : { from: range.from, until: range.until };
  const narrowed = narrowedBy(query);
  const { data, error } = useData<Found>("overview", { ...asked, ...narrowed }, range.isLive ? everyMs : undefined);
  const health = useData<Health>("health", {}, everyMs);
  const isEmpty = data?.now.answers === 0 && data.before.answers === 0 && Object.keys(narrowed).length === 0;
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <TimeFields query={query} set={set} range={range} />
        <NameFields names={names} query={query} set={set} />
        {data !== undefined && !isEmpty && (
          <label>
            <span>Saved against</span>
            <select
              value={baselineOf(data, query.get("against") ?? "") ?? ""}
              onChange={({ currentTarget: { value } }) => set({ against: value })}
            >
              {data.arms
                .filter(({ arm }) => arm !== "")
                .map(({ arm }) => (
                  <option key={arm}>{arm}</option>
                ))}
            </select>
          </label>
        )}
      </form>
      <Problem error={error} />
      {data === undefined ? (
        error === undefined && <Nothing>…</Nothing>
      ) : isEmpty ? (
        <Empty />
      ) : (
        <Figures
          found={data}
          health={health.data}
          against={query.get("against") ?? ""}
          linked={{ ...narrowed, ...timesOf(range, data) }}
          theme={theme}
        />
      )}
    </>
  );
}

/** Links to requests in the figure's period. */
const timesOf = ({ isLive }: Range, { from, until }: Found): Record<string, string> =>
  isLive ? { last: String(until - from) } : { from: String(from), until: String(until) };

interface FiguresProps {
  found: Found;
  health: Health | undefined;
  against: string;
  linked: Record<string, string>;
  theme: string;
}

function Figures({ found, health, against, linked, theme }: FiguresProps) {
  const { now, before } = found;
  const to = (more: Record<string, string> = {}): string => linkTo("requests", { ...linked, ...more });
  const baseline = baselineOf(found, against);
  const gain = baseline === undefined ? null : saved(found, baseline);
  const behind = health?.stages.reduce((sum, { lag }) => sum + (lag ?? 0), 0);
  return (
    <>
      <dl class="stats">
        <Stat label="Requests" href={to()} value={count(now.answers)} note={change(now.answers, before.answers)} />
        <Stat label="Spent" href={to({ sort: "cost" })} value={cost(now.cost)} note={change(now.cost, before.cost)} />
        <Stat
          label={baseline === undefined ? "Saved" : `Saved against ${baseline}`}
          href={to({ sort: "cost" })}
          value={gain === null ? "–" : share(gain.part)}
          note={gain === null ? "no arm has a price in this time" : `${cost(gain.saved)} of ${cost(gain.whole)}`}
        />
        <Stat
          label="Quality"
          href={to({ sort: "reward" })}
          value={<Mean of={now.quality} />}
          note={
            now.quality.rated === 0
              ? "no ratings in this time"
              : `${count(now.quality.rated)} ratings; before: ${figure(before.quality.mean)}`
          }
        />
        <Stat
          label="Latency, p50"
          href={to({ sort: "latency" })}
          value={duration(now.p50Ms)}
          note={
            <>
              p95 {duration(now.p95Ms)} · p99 {duration(now.p99Ms)}
              <br />
              before: {[before.p50Ms, before.p95Ms, before.p99Ms].map(duration).join(" · ")}
            </>
          }
        />
        <Stat
          label="First token, p50"
          href={to({ sort: "latency" })}
          value={duration(now.firstTokenP50Ms)}
          note={
            now.firstTokenP50Ms === null ? (
              "no answer was streamed"
            ) : (
              <>
                p95 {duration(now.firstTokenP95Ms)}
                <br />
                before: {[before.firstTokenP50Ms, before.firstTokenP95Ms].map(duration).join(" · ")}
              </>
            )
          }
        />
        <Stat
          label="Without an answer"
          href={to({ state: "unanswered" })}
          value={count(now.failed)}
          note={now.answers === 0 ? "" : `${share(now.failed / now.answers)}; before: ${count(before.failed)}`}
        />
        <Stat
          label="Cache hits"
          href={to({ source: "cache" })}
          value={now.answers === 0 ? "–" : share(now.cacheHits / now.answers)}
          note={`${count(now.cacheHits)}, which avoided ${cost(now.savedCost)}`}
        />
        <Stat
          label="Open breakers"
          href={linkTo("health")}
          value={health === undefined ? "–" : count(health.breakers.length)}
          note={health?.breakers.map(({ arm }) => arm).join(", ") || "every arm is called"}
        />
        <Stat
          label="Behind"
          href={linkTo("health")}
          value={count(behind)}
          note="records that stages have not read yet"
        />
        <Stat label="Dead letters" href={linkTo("health")} value={count(found.deadLetters)} note="in this time" />
      </dl>
      <div class="charts">
        <Answers found={found} theme={theme} />
        <Costs found={found} theme={theme} />
      </div>
      <div class="columns">
        <Panel title="Share of the arms">
          <ArmShares found={found} to={to} />
        </Panel>
        <Panel title="Without an answer, by cause">
          <Errors found={found} to={to} />
        </Panel>
      </div>
      <div class="columns">
        <Owners found={found} linked={linked} />
        <Learnt found={found} />
      </div>
    </>
  );
}

/** In the period that is shown; `linked` has the filters. */
function Owners({ found: { from, until }, linked }: Pick<FiguresProps, "found" | "linked">) {
  const [by, setBy] = useState<OwnerKind>("tenant");
  const { last: _last, ...filters } = linked;
  const { data, error } = useData<OwnerList>("owners", { ...filters, from, until, by });
  const parts = shares((data?.rows ?? []).map((row) => row.cost));
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
          <select value={by} onChange={({ currentTarget: { value } }) => setBy(value as OwnerKind)}>
            <option value="tenant">tenant</option>
            <option value="domain">domain</option>
            <option value="key">key</option>
          </select>
        </label>
      </p>
      <Table
        class="cards"
        rows={(data?.rows ?? []).map((row, i) => ({ ...row, part: parts[i] ?? "" }))}
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

function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? "as before" : "none in the time before";
  const by = now / before - 1;
  return `${by > 0 ? "+" : ""}${share(by)} against the time before`;
}

type To = (more?: Record<string, string>) => string;

function ArmShares({ found: { arms }, to }: { found: Found; to: To }) {
  const parts = shares(arms.map(({ answers }) => answers));
  return (
    <Table
      class="cards"
      rows={arms.map((row, i) => ({ ...row, part: parts[i] ?? "" }))}
      keyOf={({ arm }) => arm}
      columns={[
        [
          "Arm",
          ({ arm }) =>
            arm === "" ? (
              <span class="quiet">no arm</span>
            ) : (
              <a href={to({ arm })}>
                <Arm name={arm} />
              </a>
            ),
          rowHead,
        ],
        ["Answers", ({ answers }) => count(answers), numeric],
        ["Share", ({ part }) => part, numeric],
        ["Cost", (row) => cost(row.cost), numeric],
        ["p95", ({ p95Ms }) => duration(p95Ms), numeric],
        ["Quality", ({ quality }) => <Mean of={quality} />, numeric],
      ]}
    />
  );
}

function Errors({ found: { errors }, to }: { found: Found; to: To }) {
  if (errors.length === 0) return <Nothing>Every request was answered.</Nothing>;
  const parts = shares(errors.map(({ answers }) => answers));
  return (
    <Table
      class="cards"
      rows={errors.map((row, i) => ({ ...row, part: parts[i] ?? "" }))}
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

function Learnt({ found: { learnt } }: { found: Found }) {
  return (
    <Panel
      title="Learnt in this time"
      note="Quality: the mean reward of the answers that a version of the router chose, with its 95 % interval."
    >
      {learnt.length === 0 ? (
        <Nothing>Nothing was published in this time. Versions follow from feedback on answers.</Nothing>
      ) : (
        <Table
          class="cards"
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
      )}
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
