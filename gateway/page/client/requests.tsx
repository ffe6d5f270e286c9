// Requests as they happen: the newest of a time, narrowed by search and filters. What the stream
// brings shows at once; the list is read again soon after, for what only the tables know.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveBatch, LiveEvent, RequestRow } from "../data/port.ts";
import { watch } from "./api.ts";
import { cost, count, domainOf, duration, figure, fraction, time, whole } from "./format.ts";
import { linkTo, useData, useSettled, useSpan } from "./hooks.ts";
import { Arm, type Column, Nothing, numeric, Problem, Search, type Span, State, Table, Time } from "./parts.tsx";

const spans: readonly Span[] = [
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["24 hours", 86_400_000],
  ["7 days", 604_800_000],
];
const mostShown = 200;
const settleMs = 1_200;
/** Between two readings while something is not known, or not answered yet. */
const openMs = 3_000;
/** What the tables have not got by then stands there no longer. */
const provisionalMs = 30_000;

export interface Names {
  arms: string[];
  domains: string[];
  tenants: string[];
}

export function Requests({ names }: { names: Names }) {
  const [chosen, setChosen] = useState({ arm: "", domain: "", state: "", source: "" });
  const { spanMs, from, setSpan } = useSpan(3_600_000);
  const [paused, setPaused] = useState(false);
  const [live, setLive] = useState(false);
  const [skipped, setSkipped] = useState(0);
  const [fresh, setFresh] = useState<ReadonlyMap<string, RequestRow>>(new Map());
  const [search, setSearch] = useState("");
  const filter = { ...chosen, search: useSettled(search) };
  const { data, error, reload } = useData<RequestRow[]>("requests", { ...filter, from });

  const narrowed = Object.values(filter).some((value) => value !== "");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const again = useRef(reload);
  again.current = reload;
  const take = useCallback(({ events, skipped: more }: LiveBatch): void => {
    setFresh((before) => merged(before, events));
    if (more > 0) setSkipped((sum) => sum + more);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      again.current();
    }, settleMs);
  }, []);
  useEffect(() => {
    if (paused) return undefined;
    const stopping = new AbortController();
    again.current();
    void watch(take, setLive, stopping.signal);
    return () => {
      stopping.abort();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [paused, take]);

  const rows = useMemo(
    () => shownRows(data ?? [], narrowed || paused ? new Map() : fresh),
    [data, fresh, narrowed, paused],
  );
  // The tables have it soon; how soon is not known.
  const awaited = rows.some(({ question, state }) => question === "" || state === "open");
  useEffect(() => {
    if (!awaited || paused) return undefined;
    const asking = setInterval(() => again.current(), openMs);
    return () => clearInterval(asking);
  }, [awaited, paused]);
  const set = (name: string) => (event: { currentTarget: HTMLSelectElement }) => {
    const { value } = event.currentTarget;
    setChosen((before) => ({ ...before, [name]: value }));
  };
  const choice = (name: keyof typeof chosen, label: string, values: readonly string[]) => (
    <label>
      <span>{label}</span>
      <select value={chosen[name]} onChange={set(name)}>
        <option value="">all</option>
        {values.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </label>
  );

  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search placeholder="id or words of the question" value={search} onInput={setSearch} />
        {choice("arm", "Arm", names.arms)}
        {choice("domain", "Domain", names.domains)}
        {choice("state", "State", ["ok", "open", "failed", "refused"])}
        {choice("source", "Source", ["generated", "cache", "reuse", "imported", "none"])}
        <Time spans={spans} value={spanMs} onChange={setSpan} />
        <button type="button" id="pause" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </button>
        <p class="live" role="status">
          <i class={paused ? "off" : live ? "on" : "off"} aria-hidden="true" />
          {paused ? "paused" : live ? "live" : "not connected"}
          {skipped > 0 && `, ${count(skipped)} not shown live`}
        </p>
      </form>
      <Problem error={error} />
      {data !== undefined && rows.length === 0 ? (
        <Nothing>
          {narrowed
            ? "No request of this time fits."
            : "No requests in this time. Send one to /v1/chat/completions, and it shows here."}
        </Nothing>
      ) : (
        <Table class="list" scrolls="Requests" {...{ rows, columns, keyOf }} rowClass={({ state }) => state} />
      )}
    </>
  );
}

const columns: readonly Column<RequestRow>[] = [
  ["Time", (row) => time(row.createdAt), { class: "time", hint: (row) => whole(row.createdAt) }],
  [
    "Request",
    (row) => (
      <a data-row="" href={linkTo("request", { tenant: row.tenant, id: row.id })}>
        <bdi>{row.question === "" ? row.id : row.question}</bdi>
      </a>
    ),
    { class: "text" },
  ],
  ["Domain", (row) => <bdi>{domainOf(row.domain, row.tenant)}</bdi>, { hint: (row) => `tenant ${row.tenant}` }],
  [
    "Arm",
    ({ arm, source }) => (
      <>
        <Arm name={arm} />
        {source !== null && !["generated", "routed", "none"].includes(source) && <small class="source">{source}</small>}
      </>
    ),
    { class: "nowrap" },
  ],
  [
    "p",
    ({ probability }) => (probability === null ? "" : fraction(probability)),
    { ...numeric, title: "probability with which the arm was to be chosen" },
  ],
  [
    "Score",
    ({ score }) => (score === null ? "" : fraction(score)),
    { ...numeric, title: "quality less cost and load, by the router" },
  ],
  ["Ex.", ({ examples }) => (examples === 0 ? "" : examples), { ...numeric, title: "examples shown to the model" }],
  [
    "Tokens",
    ({ promptTokens, completionTokens }) =>
      promptTokens + completionTokens === 0 ? "" : `${count(promptTokens)} + ${count(completionTokens)}`,
    numeric,
  ],
  ["Cost", (row) => (row.state === "open" ? "" : cost(row.cost)), numeric],
  ["First token", ({ firstTokenMs }) => (firstTokenMs === null ? "" : duration(firstTokenMs)), numeric],
  ["Total", ({ totalMs }) => (totalMs === null ? "" : duration(totalMs)), numeric],
  ["Reward", ({ reward }) => (reward === null ? "" : figure(reward)), numeric],
  ["State", (row) => <State state={row.state} code={row.errorCode} />],
];

const keyOf = ({ tenant, id }: { tenant: string; id: string }): string => JSON.stringify([tenant, id]);

const unknown: Omit<RequestRow, "id" | "tenant" | "domain" | "createdAt"> = {
  ...{ question: "", state: "open", arm: null, source: null, probability: null, score: null, examples: 0 },
  ...{ policyVersion: null, cost: 0, promptTokens: 0, linkedTokens: 0, completionTokens: 0, queueMs: null },
  ...{ firstTokenMs: null, totalMs: null, reward: null, errorCode: null, degraded: [] },
};

/** What the stream said, by request; the newest ones. */
function merged(before: ReadonlyMap<string, RequestRow>, events: readonly LiveEvent[]): Map<string, RequestRow> {
  const rows = new Map(before);
  for (const event of events) {
    const { id, tenant, at, domain = "", arm, source, examples } = event;
    const known = rows.get(keyOf(event)) ?? { ...unknown, id, tenant, domain, createdAt: at };
    rows.delete(keyOf(event));
    rows.set(keyOf(event), {
      ...known,
      ...{ arm, source, examples },
      domain: known.domain === "" ? domain : known.domain,
      probability: event.probability ?? known.probability,
      state: event.state ?? known.state,
      cost: event.cost ?? known.cost,
      totalMs: event.totalMs ?? known.totalMs,
      firstTokenMs: event.firstTokenMs ?? known.firstTokenMs,
      errorCode: event.errorCode ?? known.errorCode,
    });
  }
  const old = Date.now() - provisionalMs;
  for (const [key, { createdAt }] of rows) if (rows.size > mostShown || createdAt < old) rows.delete(key);
  return rows;
}

function shownRows(read: readonly RequestRow[], fresh: ReadonlyMap<string, RequestRow>): RequestRow[] {
  const known = new Set(read.map(keyOf));
  const more = [...fresh].flatMap(([key, row]) => (known.has(key) ? [] : [row]));
  const rows = read.map((row) => {
    const newer = row.state === "open" ? fresh.get(keyOf(row)) : undefined;
    return newer === undefined || newer.state === "open"
      ? row
      : { ...newer, question: row.question, createdAt: row.createdAt };
  });
  return [...more, ...rows].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, mostShown);
}
