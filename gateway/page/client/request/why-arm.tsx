// Why this arm: every arm with its probability, its expected quality and its score.
import { armColour } from "../colours.ts";
import { count, figure, fraction, probabilities, share } from "../format.ts";
import { Arm, Bar, Panel } from "../parts.tsx";
import { numeric, rowHead, Table } from "../table.tsx";
import { degradedWord, errorWord, reuseWord } from "../words.ts";
import type { Answer, Decision } from "./conversation.ts";

/** How the arm came to answer, in a sentence. */
function reasonOf({ source, arm, probability, policyVersion }: Decision): string {
  if (source === "cache")
    return `Answered from the response cache: ${arm} had answered the same before, or at the same time.`;
  if (source === "imported")
    return `Imported from the log of another system, in which ${arm} answered${
      probability > 0 ? ` and was chosen with probability ${fraction(probability)}` : "; its probability is not logged"
    }.`;
  const by = policyVersion === 0 ? "the prior, before anything was learnt" : `version ${policyVersion} of the router`;
  return `Chosen with probability ${fraction(probability)} by ${by}. The score is the sampled quality less what cost and load take; the highest score wins.`;
}

const notesOf = (decision: Decision, response: Answer | undefined): string[] =>
  [
    decision.load > 0 ? `The more expensive arms were ${share(decision.load)} busy.` : "",
    ...Object.entries(decision.breakers).map(([arm, state]) =>
      state === "half-open"
        ? `The breaker of ${arm} let single probes through.`
        : `The breaker of ${arm} was ${state}.`,
    ),
    ...(response?.failedArms ?? []).map(
      ({ arm, code, message, attempts }) =>
        `${arm} failed after ${count(attempts)} ${attempts === 1 ? "call" : "calls"} (${errorWord(code)}${message === "" ? "" : `: “${message}”`}), and another arm took over.`,
    ),
    (decision.reuseArm ?? "") === ""
      ? ""
      : `${decision.reuseArm ?? ""} had the answer of example ${decision.reuseExample?.slice(0, 12) ?? ""} (similarity ${figure(decision.reuseSimilarity ?? 0)}, right with ${figure(decision.reuseQuality ?? 0)} by prediction): ${reuseWord(decision.reuseState ?? "")}.`,
    decision.asked ? "Feedback was asked for." : "",
    decision.degraded.length > 0 ? `Answered with less: ${decision.degraded.map(degradedWord).join("; ")}.` : "",
  ].filter((one) => one !== "");

export function WhyArm({ decision, response }: { decision: Decision; response: Answer | undefined }) {
  const notes = notesOf(decision, response);
  if (decision.source !== "routed" && decision.source !== undefined)
    return (
      <Panel title="Why this arm" note={reasonOf(decision)}>
        {(decision.cacheKey ?? "") !== "" && (
          <p class="note">
            Key of the entry: <code>{decision.cacheKey}</code>
          </p>
        )}
        {notes.length > 0 && <p class="note">{notes.join(" ")}</p>}
      </Panel>
    );
  const chances = new Map(
    probabilities(decision.arms.map(({ probability }) => probability)).map((text, i) => [decision.arms[i]?.arm, text]),
  );
  return (
    <Panel title="Why this arm" note={reasonOf(decision)}>
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
          ["Probability", ({ arm, probability }) => bar(arm, probability, chances.get(arm))],
          ["Expected quality", ({ arm, mean }) => bar(arm, mean)],
          ["Deviation", ({ deviation }) => `± ${fraction(deviation)}`, numeric],
          ["Sampled", ({ sampled }) => fraction(sampled), numeric],
          ["Cost", (one) => fraction(one.cost), numeric],
          [
            "Taken off",
            ({ bias }) => fraction(bias),
            {
              ...numeric,
              hint: ({ saturation }) =>
                saturation > 0 ? `${fraction(saturation)} of it for its own saturation` : undefined,
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

const bar = (arm: string, value: number, text = fraction(value)) => (
  <Bar value={value} colour={armColour(arm)}>
    {text}
  </Bar>
);
