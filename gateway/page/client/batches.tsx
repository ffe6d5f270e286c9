// Batches of all tenants: how far each is, and what its answers cost.
import type { BatchList } from "../data/batches.ts";
import type { Names } from "../data/names.ts";
import { cost, count, duration, whole } from "./format.ts";
import { linkTo, useData, useQuery } from "./hooks.ts";
import { Bar, Panel, Problem } from "./parts.tsx";
import { aged, numeric, rowHead, Table } from "./table.tsx";
import { Choice } from "./range.tsx";

export function Batches({ names }: { names: Names }) {
  const [query, set] = useQuery();
  const { data, error } = useData<BatchList>("batches", { tenant: query.get("tenant") ?? "" }, 10_000);
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice name="tenant" label="Tenant" values={names.tenants} query={query} set={set} />
      </form>
      <Problem error={error} />
      {data !== undefined && (
        <Panel
          title="Batches"
          note={`${count(data.found)} of the last 30 days${data.found > data.rows.length ? `, the newest ${count(data.rows.length)} shown` : ""}. Cost: that of the answers recorded so far.`}
        >
          <Table
            none="None. Clients upload a file of requests to /v1/files, and order a batch at /v1/batches."
            scrolls="Batches"
            rows={data.rows}
            keyOf={({ id }) => id}
            columns={[
              [
                "Batch",
                ({ id, tenant, createdAt, finishedAt }) => (
                  <a
                    data-row=""
                    href={linkTo("requests", {
                      ...{ search: `${id}-`, tenant, from: createdAt },
                      until: (finishedAt ?? Date.now()) + 60_000,
                    })}
                  >
                    <code>{id.slice(0, 18)}</code>
                  </a>
                ),
                rowHead,
              ],
              ["Tenant", ({ tenant }) => <bdi>{tenant}</bdi>],
              ["File", ({ file }) => <bdi>{file}</bdi>, { class: "text" }],
              [
                "State",
                ({ status, problem }) => (problem === "" ? status : `${status}: ${problem}`),
                { class: "text" },
              ],
              ["Done", (row) => <Done of={row} />, { class: "wide" }],
              ["Failed", ({ failed }) => count(failed), numeric],
              ["Cost", (row) => cost(row.cost), numeric],
              aged("Ordered", "createdAt"),
              [
                "Took",
                ({ createdAt, finishedAt }) => (finishedAt === null ? "–" : duration(finishedAt - createdAt)),
                numeric,
              ],
              ["Due", ({ expiresAt }) => whole(expiresAt), { class: "nowrap" }],
            ]}
          />
        </Panel>
      )}
    </>
  );
}

const Done = ({ of: { total, completed, failed } }: { of: BatchList["rows"][number] }) => (
  <Bar value={total === 0 ? 0 : (completed + failed) / total}>
    {count(completed + failed)} of {count(total)}
  </Bar>
);
