// Examples by what bettering them would gain, and how one was used.
import { useState } from "preact/hooks";
import type { ExampleRow, ExampleUse } from "../data/port.ts";
import { count, figure, fraction, whole } from "./format.ts";
import { linkTo, useData, useSettled } from "./hooks.ts";
import { Arm, Bar, Nothing, numeric, Panel, Problem, Search, Table } from "./parts.tsx";

export function Examples({ id }: { id: string }) {
  const [search, setSearch] = useState("");
  const asked = useSettled(search);
  const { data, error } = useData<ExampleRow[]>("examples", { search: asked }, 30_000);
  const most = Math.max(...(data ?? []).map(({ gain }) => gain), 0);
  return (
    <>
      {id !== "" && <Uses id={id} />}
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search placeholder="id or words of the request" value={search} onInput={setSearch} />
      </form>
      <Problem error={error} />
      <Panel
        title="Examples by gain"
        note="What bettering each would gain: the decayed sum of (1 - quality) × cost of the arm over the answers that it was shown for. Examples that were not used in two weeks are not listed."
      >
        {data?.length === 0 ? (
          <Nothing>None was used, or none fits.</Nothing>
        ) : (
          <Table
            class="list cards"
            scrolls="Examples"
            rows={data ?? []}
            keyOf={(row) => row.id}
            rowClass={(row) => (row.id === id ? "chosen" : "")}
            columns={[
              ["Gain", ({ gain }) => <Bar value={most === 0 ? 0 : gain / most}>{figure(gain)}</Bar>],
              [
                "Example",
                (row) => (
                  <>
                    <a data-row="" href={linkTo("examples", { id: row.id })}>
                      <bdi>{row.request}</bdi>
                    </a>{" "}
                    <span class="quiet">→</span> <bdi class="quiet">{row.response}</bdi>
                  </>
                ),
                { class: "text" },
              ],
              ["Of", ({ domain }) => domain],
              ["Uses", ({ uses }) => count(uses), numeric],
              ["Rated", ({ ratedUses }) => count(ratedUses), numeric],
              ["Mean quality of answers", ({ meanQuality }) => figure(meanQuality), numeric],
              ["Own quality", ({ quality }) => figure(quality), numeric],
              ["Replays", ({ replays }) => replays, numeric],
            ]}
          />
        )}
      </Panel>
    </>
  );
}

function Uses({ id }: { id: string }) {
  const { data, error } = useData<ExampleUse[]>("example-uses", { id });
  return (
    <Panel title="Uses of an example" note={<code>{id}</code>}>
      <Problem error={error} />
      {data?.length === 0 ? (
        <Nothing>It was not shown for an answer in the last two weeks.</Nothing>
      ) : (
        <Table
          class="cards"
          scrolls="Uses"
          rows={data ?? []}
          keyOf={(use) => `${use.tenant}/${use.requestId}`}
          columns={[
            ["Time", ({ createdAt }) => whole(createdAt), { class: "nowrap" }],
            [
              "Request",
              (use) => (
                <a href={linkTo("request", { tenant: use.tenant, id: use.requestId })}>
                  <bdi>{use.question === "" ? use.requestId : use.question}</bdi>
                </a>
              ),
              { class: "text" },
            ],
            ["Arm", ({ arm }) => <Arm name={arm} />],
            ["Similarity", ({ similarity }) => <Bar value={similarity}>{fraction(similarity)}</Bar>],
            ["Helpfulness", ({ helpfulness }) => <Bar value={helpfulness}>{fraction(helpfulness)}</Bar>],
            [
              "Quality of the answer",
              (use) => (
                <>
                  {figure(use.quality)} <span class="quiet">{use.rated ? "rated" : "predicted"}</span>
                </>
              ),
              numeric,
            ],
          ]}
        />
      )}
    </Panel>
  );
}
