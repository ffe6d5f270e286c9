// Why this arm: every arm with its probability, its expected quality and its score.
import { armColour } from "../colours.ts";
import { Arm, Bar, Head, number, Panel } from "../parts.tsx";
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
      <div class="scroll" tabIndex={0} role="region" aria-label="Arms">
        <table>
          <Head
            columns={[
              "Arm",
              "Model",
              "Probability",
              "Expected quality",
              number("Deviation"),
              number("Sampled"),
              number("Cost"),
              number("Taken off"),
              "Score",
              number("Examples"),
            ]}
          />
          <tbody>
            {decision.arms.map((one) => (
              <tr key={one.arm} class={one.arm === decision.arm ? "chosen" : ""}>
                <th scope="row">
                  <Arm name={one.arm} />
                  {one.arm === decision.arm && <small class="source">chosen</small>}
                </th>
                <td>{one.model}</td>
                <td>
                  <Bar value={one.probability} colour={armColour(one.arm)}>
                    {one.probability.toFixed(3)}
                  </Bar>
                </td>
                <td>
                  <Bar value={one.mean} colour={armColour(one.arm)}>
                    {one.mean.toFixed(3)}
                  </Bar>
                </td>
                <td class="number">± {one.deviation.toFixed(3)}</td>
                <td class="number">{one.sampled.toFixed(3)}</td>
                <td class="number">{one.cost.toFixed(3)}</td>
                <td
                  class="number"
                  title={one.saturation > 0 ? `${one.saturation.toFixed(3)} of it for its own saturation` : undefined}
                >
                  {one.bias.toFixed(3)}
                </td>
                <td>
                  <Bar value={one.sampled - one.bias} colour={armColour(one.arm)}>
                    {(one.sampled - one.bias).toFixed(3)}
                  </Bar>
                </td>
                <td class="number">{one.examples.length}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {notes.length > 0 && <p class="note">{notes.join(" ")}</p>}
    </Panel>
  );
}
