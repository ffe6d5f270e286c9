// Sessions: the requests that a client names as one, with their cost and reward.
import { useMemo } from "preact/hooks";
import type { Names } from "../data/names.ts";
import type { SessionList } from "../data/sessions.ts";
import { cost, count, duration, fraction, share, time } from "./format.ts";
import { linkTo, useData, useQuery, useSearch } from "./hooks.ts";
import { Panel, Problem, Search } from "./parts.tsx";
import { aged, numeric, rowHead, Table } from "./table.tsx";
import { Choice, periodOf, rangeOf, TimeFields } from "./range.tsx";

export function Sessions({ names }: { names: Names }) {
  const [query, set] = useQuery();
  const { search, setSearch, settled } = useSearch([query, set]);
  const range = useMemo(() => rangeOf(query, Date.now()), [query.toString()]);
  const asked = periodOf(range);
  const tenant = query.get("tenant") ?? "";
  const { data, error } = useData<SessionList>(
    "sessions",
    { ...asked, tenant, search: settled },
    range.isLive ? 15_000 : undefined,
  );
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search placeholder="how the session's name begins" value={search} onInput={setSearch} />
        <TimeFields query={query} set={set} range={range} />
        <Choice name="tenant" label="Tenant" values={names.tenants} query={query} set={set} />
      </form>
      <Problem error={error} />
      {data !== undefined && (
        <Panel
          title="Sessions"
          note={`Clients name a session in the metadata of its requests. The newest first; each with its requests of the day before its last${typeof data.searchedFrom === "number" ? `. Those that ended before ${time(data.searchedFrom)} are not shown` : ""}.`}
        >
          <Table
            none="No request of this time is in a session."
            scrolls="Sessions"
            rows={data.rows}
            keyOf={(row) => `${row.tenant}/${row.session}`}
            columns={[
              [
                "Session",
                (row) => (
                  <a
                    data-row=""
                    href={linkTo("requests", {
                      ...{ session: row.session, tenant: row.tenant, from: row.firstAt, until: row.lastAt + 1 },
                    })}
                  >
                    <bdi>{row.session}</bdi>
                  </a>
                ),
                rowHead,
              ],
              ["Tenant", (row) => <bdi>{row.tenant}</bdi>],
              aged("Last request", "lastAt"),
              ["Lasted", ({ firstAt, lastAt }) => duration(lastAt - firstAt), numeric],
              [
                "Requests",
                ({ requests, summed }) =>
                  summed < requests ? `${count(requests)} (figures of the last ${count(summed)})` : count(requests),
                numeric,
              ],
              ["Unanswered", ({ unanswered }) => count(unanswered), numeric],
              ["Arms", ({ arms }) => arms.join(", "), { class: "text" }],
              ["Switches", ({ switches }) => count(switches), numeric],
              [
                "Cached tokens",
                ({ cachedTokens, promptTokens }) => (promptTokens === 0 ? "–" : share(cachedTokens / promptTokens)),
                numeric,
              ],
              ["Cost", (row) => cost(row.cost), numeric],
              ["Reward", ({ reward }) => fraction(reward), numeric],
            ]}
          />
        </Panel>
      )}
    </>
  );
}
