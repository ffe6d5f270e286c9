// The overview: what a time cost, saved, was worth and how long it took, beside as long a time
// before. Every figure leads to the requests behind it.
import { useMemo } from "preact/hooks";
import type { Overview as Found } from "../data/types/overview.ts";
import type { Health } from "../data/types/health.ts";
import { Answers, Costs } from "./arm-charts.tsx";
import { Empty } from "./empty.tsx";
import { cost, count, duration, figure, share } from "./format.ts";
import { linkTo, useData, useQuery } from "./hooks.ts";
import { ArmShares, Errors, Learnt, Mean, Owners } from "./overview-tables.tsx";
import { Nothing, Panel, Problem, Stat } from "./parts.tsx";
import { NameFields, narrowedBy, periodOf, rangeOf, TimeFields } from "./range.tsx";
import type { Names } from "../data/names.ts";
import { baselineOf, saved } from "./savings.ts";

const everyMs = 15_000;

export function Overview({ names, theme }: { names: Names; theme: string }) {
  const [query, set] = useQuery();
  const range = useMemo(() => rangeOf(query, Date.now()), [query.toString()]);
  const asked = periodOf(range);
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
          linked={{ ...narrowed, ...periodOf({ ...range, from: data.from, until: data.until }) }}
          theme={theme}
        />
      )}
    </>
  );
}

interface FiguresProps {
  found: Found;
  health: Health | undefined;
  against: string;
  linked: Record<string, string | number>;
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
          href={to({ source: "cached" })}
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
        <Stat
          label="Dead letters"
          href={linkTo("letters", { tenant: linked["tenant"] ?? "", before: found.until })}
          value={count(found.deadLetters)}
          note="in this time"
        />
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

function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? "as before" : "none in the time before";
  const by = now / before - 1;
  return `${by > 0 ? "+" : ""}${share(by)} against the time before`;
}
