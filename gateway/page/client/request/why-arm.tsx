// Why this arm: every arm with its probability, its expected quality and its score.
import { armColour } from "../colours.ts";
import { Arm, Bar, numeric, Panel, rowHead, Table } from "../parts.tsx";
import type { Answer, Decision } from "./conversation.ts";

export function WhyArm({ decision, response }: { decision: Decision; response: Answer | undefined }) {
  if (decision.source === "cache")
    return (
      <Panel
        title="Why this arm"
        note={`Answered from the response cache: ${decision.arm} had answered the same before, or at the same time.`}
      >
        <p class="note">
          Key <code>{decision.cacheKey}</code>
        </p>
      </Panel>
    );
  const version = decision.policyVersion === 0 ? "the prior" : `version ${decision.policyVersion} of the router`;
  const notes = [
    decision.load > 0 ? `Load of the more expensive arms ${decision.load.toFixed(2)}.` : "",
    ...Object.entries(decision.breakers).map(([arm, state]) => `The breaker of ${arm} was ${state}.`),
    ...(response?.failedArms ?? []).map(
      (one) => `${one.arm} failed (${one.code}) after ${one.attempts} attempts; another arm took over.`,
    ),
    (decision.reuseArm ?? "") === ""
      ? ""
      : `${decision.reuseArm ?? ""} could give the answer of example ${decision.reuseExample?.slice(0, 12) ?? ""}: ${decision.reuseState ?? ""}.`,
    decision.asked ? "Feedback was asked for." : "",
    decision.degraded.length > 0 ? `Degraded: ${decision.degraded.join(", ")}.` : "",
  ].filter((one) => one !== "");
  return (
    <Panel
      title="Why this arm"
      note={`Chosen with probability ${decision.probability.toFixed(3)} by ${version}. The score is the sampled quality less what cost and load take; the highest score wins.`}
    >
      <Table
        scrolls="Arms"
        rows={decision.arms}
        keyOf={({ arm }) => arm}
        rowClass={({ arm }) => (arm === decision.arm ? "chosen" : "")}
        columns={[
          [
            "Arm",
            ({ arm }) => (
              <>
                <Arm name={arm} />
                {arm === decision.arm && <small class="source">chosen</small>}
              </>
            ),
            rowHead,
          ],
          ["Model", ({ model }) => model],
          ["Probability", ({ arm, probability }) => bar(arm, probability)],
          ["Expected quality", ({ arm, mean }) => bar(arm, mean)],
          ["Deviation", ({ deviation }) => `± ${deviation.toFixed(3)}`, numeric],
          ["Sampled", ({ sampled }) => sampled.toFixed(3), numeric],
          ["Cost", (one) => one.cost.toFixed(3), numeric],
          [
            "Taken off",
            ({ bias }) => bias.toFixed(3),
            {
              ...numeric,
              hint: ({ saturation }) =>
                saturation > 0 ? `${saturation.toFixed(3)} of it for its own saturation` : undefined,
            },
          ],
          ["Score", ({ arm, sampled, bias }) => bar(arm, sampled - bias)],
          ["Examples", ({ examples }) => examples.length, numeric],
        ]}
      />
      {notes.length > 0 && <p class="note">{notes.join(" ")}</p>}
    </Panel>
  );
}

const bar = (arm: string, value: number) => (
  <Bar value={value} colour={armColour(arm)}>
    {value.toFixed(3)}
  </Bar>
);
