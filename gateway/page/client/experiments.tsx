// Experiments: what each variant's users, sessions or requests got, and whether it may end.
import { describeVerdict } from "../../../algorithms/off-policy/variant-verdict.ts";
import type { ExperimentVariant } from "../data/types/policies.ts";
import { ago, count, figure } from "./format.ts";
import { useData } from "./hooks.ts";
import { Nothing, Panel, Problem } from "./parts.tsx";
import { numeric, rowHead, Table } from "./table.tsx";

export function Experiments() {
  const { data, error } = useData<ExperimentVariant[]>("experiments", {}, 60_000);
  if (data === undefined) return <Problem error={error} />;
  return (
    <Panel
      title="Experiments"
      note="Variants beside their control. The interval holds however often it is looked at: a verdict may be acted on at any time."
    >
      {data.length === 0 ? (
        <Nothing>None is configured, or none has answers yet.</Nothing>
      ) : (
        <>
          <Table
            rows={data}
            keyOf={({ experiment, variant }) => `${experiment}/${variant}`}
            columns={[
              ["Experiment", ({ experiment }) => experiment, rowHead],
              ["Variant", ({ variant, verdict }) => (verdict === "control" ? `${variant} (control)` : variant)],
              ["Units", ({ units }) => count(units), numeric],
              ["Rated", ({ ratedUnits }) => count(ratedUnits), numeric],
              ["Requests", ({ requests }) => count(requests), numeric],
              ["Unanswered", ({ unanswered }) => count(unanswered), numeric],
              ["Reward", ({ reward }) => figure(reward), numeric],
              ["Cost", ({ cost }) => figure(cost), numeric],
              ["Time", ({ totalMs }) => `${count(totalMs)} ms`, numeric],
              ["Last", ({ lastAt }) => ago(lastAt)],
            ]}
          />
          <ul>
            {data
              .filter(({ verdict }) => verdict !== "control")
              .map((one) => (
                <li key={`${one.experiment}/${one.variant}`}>
                  {one.experiment}: {describeVerdict(one)}
                </li>
              ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
