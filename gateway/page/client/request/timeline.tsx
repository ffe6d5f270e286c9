// When what happened, from the arrival to the end of the answer.
import { count, duration } from "../format.ts";
import { Nothing, Panel } from "../parts.tsx";
import { errorWord } from "../words.ts";
import type { Answer, Decision } from "./conversation.ts";

/** Label of the time between planning and the first token. */
const callWord = ({ source, status, firstTokenMs }: Answer): string =>
  source === "cache"
    ? "looked up in the response cache"
    : source === "reuse"
      ? "the example's answer was sent"
      : status === "refused"
        ? "refused, without asking an arm"
        : firstTokenMs === null
          ? "called the arm"
          : "called the arm, until the first token";

export function Timeline({ decision, response }: { decision: Decision | undefined; response: Answer | undefined }) {
  if (response === undefined)
    return (
      <Panel title="Timeline">
        <Nothing>Not answered yet.</Nothing>
      </Panel>
    );
  const { planMs, queueMs, firstTokenMs, totalMs, failedArms } = response;
  const failedMs = failedArms.reduce((sum, { ms }) => sum + ms, 0);
  const until = firstTokenMs ?? totalMs;
  const steps = [
    { label: "planned", ms: planMs, colour: "var(--arm-2)" },
    ...failedArms.map(({ arm, code, attempts, ms }) => ({
      label: `${arm} failed${attempts > 1 ? ` ${count(attempts)} times` : ""}: ${errorWord(code)}`,
      ms,
      colour: "var(--bad)",
    })),
    ...(queueMs > 0 ? [{ label: "waited for its turn", ms: queueMs, colour: "var(--warn)" }] : []),
    {
      label: callWord(response),
      ms: Math.max(0, until - planMs - queueMs - failedMs),
      colour: "var(--accent)",
    },
    ...(firstTokenMs === null
      ? []
      : [{ label: "the rest of the answer", ms: Math.max(0, totalMs - firstTokenMs), colour: "var(--good)" }]),
  ];
  // An inline arm is called within plan, and has a step of its own.
  const planned = (decision?.timings ?? []).filter(({ operator }) => operator !== "call");
  let begun = 0;
  return (
    <Panel title="Timeline" note={`${duration(totalMs)} from its arrival.`}>
      <table class="timeline">
        <tbody>
          {steps.map(({ label, ms, colour }) => {
            const left = totalMs === 0 ? 0 : Math.min(1, begun / totalMs);
            begun += ms;
            return (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td class="wide">
                  <span class="track" aria-hidden="true">
                    <span
                      class="fill"
                      style={{
                        marginLeft: `${left * 100}%`,
                        width: `${totalMs === 0 ? 0 : Math.min(1 - left, ms / totalMs) * 100}%`,
                        background: colour,
                      }}
                    />
                  </span>
                </td>
                <td class="number">{duration(ms)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {planned.length > 0 && (
        <p class="note">
          Within planning: {planned.map(({ operator, ms }) => `${operator} ${duration(ms)}`).join(", ")}.
        </p>
      )}
    </Panel>
  );
}
