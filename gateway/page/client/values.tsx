// Off-policy comparison: what other policies would have earned on the logged decisions.
import type { PolicyValues } from "../data/port.ts";
import { armColour } from "./colours.ts";
import { count, figure, share, whole } from "./format.ts";
import { useData } from "./hooks.ts";
import { Arm, Head, Nothing, number, Panel, Problem } from "./parts.tsx";

export function Values() {
  const { data, error } = useData<PolicyValues>("values", {}, 60_000);
  if (data === undefined) return <Problem error={error} />;
  return (
    <>
      <Panel
        title="Always one arm"
        note="What always taking one arm would have earned in reward on the rated decisions of two weeks, from the logged propensities (SNIPS, 95 % interval)."
      >
        {data.arms.length === 0 ? (
          <Nothing>No rated decision yet.</Nothing>
        ) : (
          <table>
            <Head
              columns={[
                "Arm",
                "Reward",
                number("SNIPS"),
                number("IPS"),
                number("Decisions"),
                number("Effective"),
                number("Unsupported"),
              ]}
            />
            <tbody>
              {data.arms.map((row) => (
                <tr key={row.arm}>
                  <th scope="row">
                    <Arm name={row.arm} />
                  </th>
                  <td class="wide">
                    <Interval value={row.snips} reach={row.snipsReach} colour={armColour(row.arm)} />
                  </td>
                  <td class="number">{withReach(row.snips, row.snipsReach)}</td>
                  <td class="number">{figure(row.ips)}</td>
                  <td class="number">{count(row.decisions)}</td>
                  <td class="number">{figure(row.effective)}</td>
                  <td class="number">{row.unsupported === null ? "–" : share(row.unsupported)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      <Panel
        title="Evaluations"
        note="Saved by precedent policy evaluate --save; utility is reward less the cost weight times the cost."
      >
        {data.evaluations.length === 0 ? (
          <Nothing>None is saved: precedent policy evaluate router --save.</Nothing>
        ) : (
          <table>
            <Head
              columns={[
                "Evaluated",
                "Policy",
                "Utility",
                number("SNIPS"),
                number("DR"),
                number("Decisions"),
                number("Effective"),
              ]}
            />
            <tbody>
              {data.evaluations.map((row) => (
                <tr key={`${row.evaluation}/${row.policy}`}>
                  <td class="nowrap">{whole(row.at)}</td>
                  <th scope="row">{row.policy}</th>
                  <td class="wide">
                    <Interval value={row.snips} reach={row.snipsReach} colour="var(--accent)" />
                  </td>
                  <td class="number">{withReach(row.snips, row.snipsReach)}</td>
                  <td class="number">{withReach(row.dr, row.drReach)}</td>
                  <td class="number">{count(row.decisions)}</td>
                  <td class="number">{figure(row.effective)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
    </>
  );
}

const withReach = (value: number | null, reach: number | null): string =>
  value === null || reach === null ? figure(value) : `${figure(value)} ± ${figure(reach)}`;

/** On a line from 0 to 1. */
function Interval({ value, reach, colour }: { value: number | null; reach: number | null; colour: string }) {
  if (value === null) return null;
  const part = (at: number): number => Math.min(1, Math.max(0, at)) * 100;
  const [low, high] = [part(value - (reach ?? 0)), part(value + (reach ?? 0))];
  return (
    <span class="interval" aria-hidden="true">
      <span class="reach" style={{ left: `${low}%`, width: `${high - low}%`, background: colour }} />
      <span class="point" style={{ left: `${part(value)}%`, background: colour }} />
    </span>
  );
}
