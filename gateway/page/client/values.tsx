// Off-policy comparison: what other policies would have earned on the logged decisions.
import type { PolicyValues } from "../data/port.ts";
import { armColour } from "./colours.ts";
import { Experiments } from "./experiments.tsx";
import { count, figure, share, whole } from "./format.ts";
import { useData } from "./hooks.ts";
import { Arm, Nothing, numeric, Panel, Problem, rowHead, Table } from "./parts.tsx";

export function Values() {
  const { data, error } = useData<PolicyValues>("values", {}, 60_000);
  if (data === undefined) return <Problem error={error} />;
  return (
    <>
      <Experiments />
      <Panel
        title="Always one arm"
        note="What always taking one arm would have earned in reward on the rated decisions of two weeks, from the logged propensities (SNIPS, 95 % interval)."
      >
        {data.arms.length === 0 ? (
          <Nothing>No rated decision yet.</Nothing>
        ) : (
          <Table
            class="cards"
            rows={data.arms}
            keyOf={({ arm }) => arm}
            columns={[
              ["Arm", ({ arm }) => <Arm name={arm} />, rowHead],
              [
                "Reward",
                (row) => <Interval value={row.snips} reach={row.snipsReach} colour={armColour(row.arm)} />,
                { class: "wide" },
              ],
              ["SNIPS", (row) => withReach(row.snips, row.snipsReach), numeric],
              ["IPS", ({ ips }) => figure(ips), numeric],
              ["Decisions", ({ decisions }) => count(decisions), numeric],
              ["Effective", ({ effective }) => figure(effective), numeric],
              ["Unsupported", ({ unsupported }) => (unsupported === null ? "–" : share(unsupported)), numeric],
            ]}
          />
        )}
      </Panel>
      <Panel
        title="Evaluations"
        note="Saved by precedent policy evaluate --save; utility is reward less the cost weight times the cost."
      >
        {data.evaluations.length === 0 ? (
          <Nothing>None is saved: precedent policy evaluate router --save.</Nothing>
        ) : (
          <Table
            class="cards"
            rows={data.evaluations}
            keyOf={(row) => `${row.evaluation}/${row.policy}`}
            columns={[
              ["Evaluated", ({ at }) => whole(at), { class: "nowrap" }],
              ["Policy", ({ policy }) => policy, rowHead],
              [
                "Utility",
                (row) => <Interval value={row.snips} reach={row.snipsReach} colour="var(--accent)" />,
                {
                  class: "wide",
                },
              ],
              ["SNIPS", (row) => withReach(row.snips, row.snipsReach), numeric],
              ["DR", (row) => withReach(row.dr, row.drReach), numeric],
              ["Decisions", ({ decisions }) => count(decisions), numeric],
              ["Effective", ({ effective }) => figure(effective), numeric],
            ]}
          />
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
