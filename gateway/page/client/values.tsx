// Off-policy comparison: what other policies would have earned on the logged decisions.
import { verdictOf } from "../../../algorithms/off-policy/rival.ts";
import type { PolicyValues } from "../data/types/policies.ts";
import { armColour } from "./colours.ts";
import { Experiments } from "./experiments.tsx";
import { cost, count, figure, share, whole } from "./format.ts";
import { useData } from "./hooks.ts";
import { Arm, Nothing, Panel, Problem } from "./parts.tsx";
import { numeric, rowHead, Table } from "./table.tsx";

export function Values() {
  const { data, error } = useData<PolicyValues>("values", {}, 60_000);
  if (data === undefined) return <Problem error={error} />;
  return (
    <>
      <Experiments />
      <Panel
        title="Always one arm"
        note="What always taking one arm would have earned in reward, from the logged propensities of the newest 20,000 rated decisions of two weeks."
      >
        {data.arms.length === 0 ? (
          <Nothing>No rated decision yet.</Nothing>
        ) : (
          <>
            <Verdict arms={data.arms} />
            <Table
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
                [
                  "Choices less arm",
                  ({ rival }) => (rival === null ? "–" : withReach(rival.difference, rival.reach)),
                  numeric,
                ],
                ["IPS", ({ ips }) => figure(ips), numeric],
                ["An answer's cost", (row) => cost(row.cost), numeric],
                ["Decisions", ({ decisions }) => count(decisions), numeric],
                ["Effective", ({ effective }) => figure(effective), numeric],
                ["Unsupported", ({ unsupported }) => (unsupported === null ? "–" : share(unsupported)), numeric],
              ]}
            />
            <Estimators />
          </>
        )}
      </Panel>
      <Panel
        title="Evaluations"
        note="Saved by precedent policy evaluate --save; utility is reward less the cost weight times the cost."
      >
        <Table
          none="None is saved: precedent policy evaluate router --save."
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
      </Panel>
    </>
  );
}

/** The choices as they were made, beside the best arm and the most expensive one. */
function Verdict({ arms }: Pick<PolicyValues, "arms">) {
  const known = arms.flatMap(({ rival, ...row }) => (rival === null ? [] : [{ ...row, rival }]));
  const [best] = known;
  const mostExpensive = known.toSorted((a, b) => (b.cost ?? 0) - (a.cost ?? 0))[0];
  if (best === undefined) return null;
  return (
    <>
      {[...new Set([best, mostExpensive ?? best])].map((one) => (
        <p key={one.arm}>
          <strong>{sentenceOf(one, arms.length)}</strong>
        </p>
      ))}
    </>
  );
}

const outcomes = {
  better: "the choices earned more",
  worse: "the choices earned less",
  unclear: "the ratings don't tell which earned more",
  few: "too few of its answers are rated to say which earned more",
} as const;

type Known = PolicyValues["arms"][number] & { rival: NonNullable<PolicyValues["arms"][number]["rival"]> };
const sentenceOf = ({ arm, rival, unsupported, effective, cost: price }: Known, arms: number): string =>
  `Beside always ${arm}${price === null ? "" : `, at ${cost(price)} an answer`}: ${outcomes[verdictOf(rival, effective ?? 0)]}. ` +
  `Reward ${figure(rival.logged)} and ${figure(rival.always)}, difference ${rival.difference > 0 ? "+" : ""}${withReach(rival.difference, rival.reach)} (95 %${arms > 1 ? ` for all ${arms} arms at once` : ""}).` +
  ((unsupported ?? 0) > 0.05
    ? ` The ${share(unsupported)} of decisions for which ${arm} could not be chosen are left out.`
    : "");

const terms: readonly (readonly [name: string, what: string])[] = [
  ["IPS", "rewards of the arm's answers, each divided by the probability of its choice; right on average, wide"],
  ["SNIPS", "the same, divided by the sum of those weights in place of the count; narrower, slightly biased"],
  ["DR", "a model's prediction for every decision, corrected by IPS where the arm was chosen"],
  [
    "Choices less arm",
    "the difference on the same decisions; its interval is that wide that those of all arms hold together with 95 %, hence also that of the best, which the same ratings pick",
  ],
  ["Decisions", "rated decisions that are used"],
  ["Effective", "how many equally weighted decisions would say as much; few of many: don't trust it"],
  [
    "Unsupported",
    "share of decisions on which the arm had no probability: they are left out, nothing is known of them",
  ],
];

const Estimators = () => (
  <dl class="terms">
    {terms.map(([name, what]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{what}.</dd>
      </div>
    ))}
  </dl>
);

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
