// Requests as they happen: the newest of a time, narrowed, sorted and paged; the address holds the
// view. What the stream brings shows at once; the list is read again soon after, for what only the
// tables know.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Names } from "../data/names.ts";
import type { RequestList, RequestRow } from "../data/types/requests.ts";
import { saveCsv } from "./csv.ts";
import { count, time } from "./format.ts";
import { nameOf } from "./compare.tsx";
import { linkTo, useData, useQuery, useSearch, type Query } from "./hooks.ts";
import { keyOf, shownRows } from "./live-rows.ts";
import { Nothing, Problem, Search } from "./parts.tsx";
import { type Column, Table } from "./table.tsx";
import { Choice, NameFields, periodOf, rangeOf, TimeFields } from "./range.tsx";
import { filledColumns, optional } from "./request-columns.tsx";
import { MoreFilters, narrowing } from "./request-filters.tsx";
import { useLive, useOlder } from "./use-rows.ts";
import { sourceWord } from "./words.ts";

/** Between two readings while something is not known, or not answered yet. */
const openMs = 3_000;

const states = ["ok", "open", "failed", "refused", ["unanswered", "failed or refused"]] as const;
const sources = ["generated", "cache", "reuse", "cached", "imported", "none"].map(
  (name) => [name, sourceWord(name)] as const,
);
const sorts = [
  ["cost", "most expensive first"],
  ["latency", "slowest first"],
  ["reward", "worst rated first"],
] as const;

export function Requests({ names }: { names: Names }) {
  const [query, set] = useQuery();
  const range = useMemo(() => rangeOf(query, Date.now()), [query.toString()]);
  const { search, setSearch } = useSearch([query, set]);
  const [paused, setPaused] = useState(false);
  const asked: Query = {
    ...Object.fromEntries(narrowing.map((name) => [name, query.get(name) ?? undefined])),
    ...periodOf(range),
  };
  const { data, isStale, error, reload } = useData<RequestList>("requests", asked);
  const isPlain = range.isLive && narrowing.every((name) => !query.get(name));
  const { fresh, live, skipped } = useLive(paused, reload);
  const older = useOlder(asked, data);
  const rows = useMemo(() => {
    const first = shownRows(data?.rows ?? [], isPlain && !paused ? fresh : new Map());
    const known = new Set(first.map(keyOf));
    return [...first, ...older.rows.filter((row) => !known.has(keyOf(row)))];
  }, [data, fresh, isPlain, paused, older.rows]);
  // The tables follow after an unknown delay.
  const awaited = isPlain && rows.some(({ question, state }) => question === "" || state === "open");
  const again = useRef(reload);
  again.current = reload;
  useEffect(() => {
    if (!awaited || paused) return undefined;
    const asking = setInterval(() => again.current(), openMs);
    return () => clearInterval(asking);
  }, [awaited, paused]);
  const hidden = new Set((query.get("hide") ?? "").split(",").filter((name) => name !== ""));
  const picked = (query.get("pick") ?? "").split(",").filter((name) => name !== "");
  const shown: Column<RequestRow>[] = [
    ...filledColumns(rows).filter(([name]) => !hidden.has(name)),
    pickColumn(picked, (names) => set({ pick: names.join(",") })),
  ];
  const unanswered = rows.filter(({ state }) => state === "failed" || state === "refused").length;
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search placeholder="id or words of the question" value={search} onInput={setSearch} />
        <TimeFields query={query} set={set} range={range} />
        <NameFields names={names} query={query} set={set} />
        <Choice name="state" label="State" values={states} query={query} set={set} />
        <Choice name="source" label="Source" values={sources} query={query} set={set} />
        <Choice name="sort" label="Order" values={sorts} none="newest first" query={query} set={set} />
        <MoreFilters query={query} set={set} hidden={hidden} optional={optional} />
        <button type="button" id="pause" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </button>
        <button
          type="button"
          disabled={isStale || rows.length === 0}
          onClick={() =>
            saveCsv(
              rows,
              shown.map(([name]) => name),
            )
          }
        >
          CSV
        </button>
        {picked.length === 2 && (
          <button
            type="button"
            onClick={() => (location.hash = linkTo("compare", { a: picked[0] ?? "", b: picked[1] ?? "" }))}
          >
            Compare the two
          </button>
        )}
        <p class="live" role="status">
          <i class={paused ? "off" : live ? "on" : "off"} aria-hidden="true" />
          {paused ? "paused" : live ? "live" : "not connected"}
          {skipped > 0 && `, ${count(skipped)} not shown live`}
        </p>
      </form>
      <Problem error={error ?? older.error} />
      {data !== undefined && rows.length === 0 ? (
        <Nothing>
          {isPlain
            ? "No requests in this time. Send one to /v1/chat/completions, and it shows here."
            : "No request in this time matches."}
        </Nothing>
      ) : (
        <Table
          class="list"
          scrolls="Requests"
          {...{ rows, columns: shown, keyOf, isStale }}
          rowClass={({ state }) => state}
        />
      )}
      {rows.length > 0 && (
        <p class="foot">
          {count(rows.length)} {rows.length === 1 ? "request" : "requests"} shown, {count(unanswered)} without an
          answer.
          {typeof data?.searchedFrom === "number" &&
            ` Searched back to ${time(data.searchedFrom)}: narrow the time to search before.`}
          {older.isFull && " No more are shown: narrow the time to see older ones."}
          {older.isMore && (
            <button type="button" onClick={older.load} disabled={older.isLoading}>
              {older.isLoading ? "…" : "Show more"}
            </button>
          )}
        </p>
      )}
    </>
  );
}

/** Two requests may be selected; a third takes the place of the first. */
const pickColumn = (picked: readonly string[], pick: (names: string[]) => void): Column<RequestRow> => [
  "Compare",
  (row) => {
    const name = nameOf(row);
    const isPicked = picked.includes(name);
    return (
      <input
        type="checkbox"
        aria-label={`Select to compare: ${row.question === "" ? row.id : row.question.slice(0, 80)}`}
        checked={isPicked}
        onChange={() => pick(isPicked ? picked.filter((one) => one !== name) : [...picked.slice(-1), name])}
      />
    );
  },
  { isHidden: true, class: "pick" },
];
