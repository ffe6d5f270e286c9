// Examples by what bettering them would gain, and how one was used.
import { useState } from "preact/hooks";
import type { ExampleRow, ExampleUse } from "../data/port.ts";
import { count, figure, whole } from "./format.ts";
import { linkTo, useData, useSettled } from "./hooks.ts";
import { Arm, Bar, Head, Nothing, number, Panel, Problem, Search } from "./parts.tsx";

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
          <div class="scroll" tabIndex={0} role="region" aria-label="Examples">
            <table class="list">
              <Head
                columns={[
                  "Gain",
                  "Example",
                  "Of",
                  number("Uses"),
                  number("Rated"),
                  number("Mean quality of answers"),
                  number("Own quality"),
                  number("Replays"),
                ]}
              />
              <tbody>
                {(data ?? []).map((row) => (
                  <tr key={row.id} class={row.id === id ? "chosen" : ""}>
                    <td>
                      <Bar value={most === 0 ? 0 : row.gain / most}>{figure(row.gain)}</Bar>
                    </td>
                    <td class="text">
                      <a data-row="" href={linkTo("examples", { id: row.id })}>
                        <bdi>{row.request}</bdi>
                      </a>{" "}
                      <span class="quiet">→</span> <bdi class="quiet">{row.response}</bdi>
                    </td>
                    <td>{row.domain}</td>
                    <td class="number">{count(row.uses)}</td>
                    <td class="number">{count(row.ratedUses)}</td>
                    <td class="number">{figure(row.meanQuality)}</td>
                    <td class="number">{figure(row.quality)}</td>
                    <td class="number">{row.replays}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
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
        <div class="scroll" tabIndex={0} role="region" aria-label="Uses">
          <table>
            <Head columns={["Time", "Request", "Arm", "Similarity", "Helpfulness", number("Quality of the answer")]} />
            <tbody>
              {(data ?? []).map((use) => (
                <tr key={`${use.tenant}/${use.requestId}`}>
                  <td class="nowrap">{whole(use.createdAt)}</td>
                  <td class="text">
                    <a href={linkTo("request", { tenant: use.tenant, id: use.requestId })}>
                      <bdi>{use.question === "" ? use.requestId : use.question}</bdi>
                    </a>
                  </td>
                  <td>
                    <Arm name={use.arm} />
                  </td>
                  <td>
                    <Bar value={use.similarity}>{use.similarity.toFixed(3)}</Bar>
                  </td>
                  <td>
                    <Bar value={use.helpfulness}>{use.helpfulness.toFixed(3)}</Bar>
                  </td>
                  <td class="number">
                    {figure(use.quality)} <span class="quiet">{use.rated ? "rated" : "predicted"}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
