// Examples by what bettering them would gain, or the newest; one of them whole (example.tsx).
import type { ExampleList } from "../data/types/examples.ts";
import { Example } from "./example.tsx";
import { count, figure, time } from "./format.ts";
import { linkTo, useData, useQuery, useSearch } from "./hooks.ts";
import { Bar, Nothing, Panel, Problem, Search } from "./parts.tsx";
import { numeric, Table } from "./table.tsx";
import { Choice } from "./range.tsx";

const sorts = [["newest", "newest first"]] as const;

export function Examples({ id }: { id: string }) {
  const [query, set] = useQuery();
  const { search, setSearch, settled } = useSearch([query, set]);
  const sort = query.get("sort") ?? undefined;
  const { data, error } = useData<ExampleList>("examples", { search: settled, sort }, 30_000);
  const kept = { search: query.get("search") ?? "", sort: sort ?? "" };
  const most = Math.max(...(data?.rows ?? []).map(({ gain }) => gain), 0);
  return (
    <>
      {id !== "" && <Example key={id} id={id} onEdited={(edited) => set({ id: edited })} />}
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search placeholder="id or words of request or answer" value={search} onInput={setSearch} />
        <Choice name="sort" label="Order" values={sorts} none="most to gain first" query={query} set={set} />
      </form>
      <Problem error={error} />
      <Panel
        title={sort === "newest" ? "The newest examples" : "Examples by gain"}
        note={`Gain is what bettering one would gain: the sum of (1 - quality) × cost of the arm over the answers that it was shown for ${rangeWords(data?.countedFrom ?? null)}, each weighed less by a tenth an hour. Those that were not shown have none, and only the order by time lists them.`}
      >
        {data === undefined ? (
          <Nothing>…</Nothing>
        ) : data.rows.length === 0 ? (
          <Nothing>{sort === "newest" ? "None fits." : "None was used in this time, or none fits."}</Nothing>
        ) : (
          <Table
            class="list"
            scrolls="Examples"
            rows={data.rows}
            keyOf={(row) => row.id}
            rowClass={(row) => (row.id === id ? "chosen" : "")}
            columns={[
              ["Gain", ({ gain }) => <Bar value={most === 0 ? 0 : gain / most}>{figure(gain)}</Bar>],
              [
                "Example",
                (row) => (
                  <>
                    <a data-row="" href={linkTo("examples", { ...kept, id: row.id })}>
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
              ["Mean quality of answers", ({ uses, meanQuality }) => (uses === 0 ? "" : figure(meanQuality)), numeric],
              ["Own quality", ({ quality }) => figure(quality), numeric],
              ["Replays", ({ replays }) => replays, numeric],
            ]}
          />
        )}
      </Panel>
    </>
  );
}

const rangeWords = (from: number | null): string =>
  from === null ? "in two weeks" : `since ${time(from)} (the newest 50,000 uses)`;
