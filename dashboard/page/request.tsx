// Explain, as a page: why this arm, why these examples, what was computed of the prompt, when what
// happened. The same that `precedent explain` prints.
import type { Conversation } from "../../serving/conversation.ts";
import { cost, count, duration, figure, share, time, whole } from "./format.ts";
import { linkTo, useData } from "./hooks.ts";
import { Arm, Bar, Head, Nothing, number, Panel, Problem, Stat, State } from "./parts.tsx";
import { armColour } from "./colours.ts";

type Decision = NonNullable<Conversation["decision"]>;
type Answer = NonNullable<Conversation["response"]>;

export function Explain({ id, tenant }: { id: string; tenant: string }) {
  const { data, error } = useData<Conversation>("request", { id, tenant }, 5_000);
  if (data === undefined) return error === undefined ? <Nothing>…</Nothing> : <Problem error={error} />;
  const { request, decision, response, alternative } = data;
  return (
    <div class="explain">
      <p class="back">
        <a href={linkTo("requests")}>Requests</a> › <code>{request.id}</code>
      </p>
      <dl class="stats">
        <Stat
          label="Arm"
          value={<Arm name={response?.arm ?? decision?.arm ?? null} />}
          note={response?.model ?? undefined}
        />
        <Stat
          label="State"
          value={<State state={(response?.status ?? "open") as "ok"} code={response?.errorCode ?? null} />}
          note={response?.source}
        />
        <Stat
          label="Total"
          value={duration(response?.totalMs)}
          note={
            response === undefined || response.firstTokenMs === null
              ? ""
              : `first token ${duration(response.firstTokenMs)}`
          }
        />
        <Stat
          label="Cost"
          value={cost(response?.cost)}
          note={response?.savedCost ? `saved ${cost(response.savedCost)}` : ""}
        />
        <Stat
          label="Reward"
          value={data.reward === undefined || data.reward.weight === 0 ? "–" : figure(data.reward.reward)}
          note={data.reward === undefined ? "" : `${data.reward.counted} of ${data.reward.received} count`}
        />
        <Stat label="Arrived" value={time(request.createdAt)} note={`${whole(request.createdAt)}, ${request.domain}`} />
      </dl>
      <div class="columns">
        <Panel title="Question and answer">
          {request.messages.map(({ role, content }, i) => (
            <Turn key={i} who={role} text={content} />
          ))}
          {response !== undefined && (
            <Turn
              who={`answer of ${response.arm ?? "nobody"}`}
              text={
                response.status === "ok" ? response.text : `${response.errorCode ?? ""}: ${response.errorMessage ?? ""}`
              }
            />
          )}
          {alternative !== undefined && (
            <Turn
              who={`second answer, of ${alternative.arm ?? "nobody"}, for comparison`}
              text={alternative.status === "ok" ? alternative.text : (alternative.errorMessage ?? "")}
            />
          )}
          {request.documents.length > 0 && <p class="note">Documents: {request.documents.join(", ")}</p>}
        </Panel>
        <Timeline decision={decision} response={response} />
      </div>
      {decision === undefined ? (
        <Nothing>Not planned: refused, or not recorded yet.</Nothing>
      ) : (
        <WhyArm decision={decision} response={response} />
      )}
      {decision !== undefined && <WhyExamples conversation={data} decision={decision} />}
      <div class="columns">
        {response !== undefined && <Prompt response={response} />}
        <Said conversation={data} />
      </div>
    </div>
  );
}

const Turn = ({ who, text }: { who: string; text: string }) => (
  <div class="turn">
    <h3>{who}</h3>
    <pre dir="auto">{text}</pre>
  </div>
);

const chosenOf = (decision: Decision) => decision.arms.find(({ arm }) => arm === decision.arm);

function WhyArm({ decision, response }: { decision: Decision; response: Answer | undefined }) {
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

interface Considered {
  id: string;
  similarity: number;
  helpfulness: number;
  tokens: number;
  cachedBonus: number;
  what: string;
}

/** Shown to the chosen arm, as in the prompt; then what only others would have got. */
function consideredBy(decision: Decision): Considered[] {
  const shown = chosenOf(decision)?.examples ?? [];
  const ids = new Set(shown.map(({ id }) => id));
  const others = decision.arms.flatMap(({ arm, examples }) =>
    examples.flatMap((example) => {
      if (ids.has(example.id)) return [];
      ids.add(example.id);
      return [{ ...example, what: `left out; ${arm} would have had it` }];
    }),
  );
  return [...shown.map((one, i) => ({ ...one, what: one.explored ? `${i + 1}., by chance` : `${i + 1}.` })), ...others];
}

function WhyExamples({ conversation, decision }: { conversation: Conversation; decision: Decision }) {
  const { trial } = conversation;
  const texts = new Map(conversation.examples.map((example) => [example.id, example]));
  const rows = consideredBy(decision);
  const { threshold, exploredThreshold, proxyVersion, template } = decision;
  const by =
    proxyVersion === 0
      ? "similarity stands for helpfulness"
      : `helpfulness as predicted by model version ${proxyVersion}`;
  const tau =
    exploredThreshold === null ? `threshold ${threshold}` : `threshold ${exploredThreshold}, tried for ${threshold}`;
  return (
    <Panel
      title="Why these examples"
      note={`In the order of the prompt, the most helpful last; ${by}; ${tau}; template ${template}.`}
    >
      {rows.length === 0 ? (
        <Nothing>None was shown: none was similar and helpful enough, or the arm takes none.</Nothing>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Examples">
          <table>
            <Head
              columns={["Place", "Example", "Similarity", "Helpfulness", number("Tokens"), number("Cache bonus")]}
            />
            <tbody>
              {rows.map((row) => (
                <tr key={row.id}>
                  <td class="nowrap">{row.what}</td>
                  <td class="text">
                    <ExampleText text={texts.get(row.id)} id={row.id} />
                  </td>
                  <td>
                    <Bar value={row.similarity}>{row.similarity.toFixed(3)}</Bar>
                  </td>
                  <td>
                    <Bar value={row.helpfulness}>{row.helpfulness.toFixed(3)}</Bar>
                  </td>
                  <td class="number">{row.tokens}</td>
                  <td class="number">{row.cachedBonus > 0 ? row.cachedBonus.toFixed(3) : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {trial !== undefined && (
        <p class="note">
          Example <code>{trial.id.slice(0, 12)}</code> was {trial.shown ? "forced in" : "kept out"} by chance
          (probability {figure(trial.probability)}): the trial that teaches what helps.
        </p>
      )}
    </Panel>
  );
}

const ExampleText = ({ text, id }: { text: Conversation["examples"][number] | undefined; id: string }) => (
  <a href={linkTo("examples", { id })}>
    {text === undefined ? (
      <code>{id.slice(0, 12)}</code>
    ) : (
      <>
        <bdi>{text.request}</bdi> <span class="quiet">→</span> <bdi class="quiet">{text.response}</bdi>
      </>
    )}
  </a>
);

/** Parts of the prompt by how they came to be. */
function Prompt({ response }: { response: Answer }) {
  const { promptTokens, linkedTokens, recomputedTokens, prefilledTokens, completionTokens } = response;
  const reused = Math.max(0, linkedTokens - recomputedTokens);
  const parts = [
    { label: "linked: KV cache reused as it was", tokens: reused, colour: "var(--good)" },
    { label: "linked, and computed again", tokens: recomputedTokens, colour: "var(--warn)" },
    {
      label: "computed as usual",
      tokens: prefilledTokens === 0 && linkedTokens === 0 ? promptTokens : prefilledTokens,
      colour: "var(--arm-2)",
    },
  ];
  return (
    <Panel
      title="Prompt, by what was computed"
      note={`${count(promptTokens)} tokens of prompt, ${count(completionTokens)} of answer.${linkedTokens === 0 ? " No KV cache was linked: the arm is no llama arm, or had none at hand." : ""}`}
    >
      <table>
        <tbody>
          {parts.map(({ label, tokens, colour }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td class="wide">
                <Bar value={promptTokens === 0 ? 0 : tokens / promptTokens} colour={colour}>
                  {count(tokens)} {promptTokens > 0 && `(${share(tokens / promptTokens)})`}
                </Bar>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Timeline({ decision, response }: { decision: Decision | undefined; response: Answer | undefined }) {
  if (response === undefined)
    return (
      <Panel title="Timeline">
        <Nothing>Not answered yet.</Nothing>
      </Panel>
    );
  const { planMs, queueMs, firstTokenMs, totalMs } = response;
  const until = firstTokenMs ?? totalMs;
  const steps = [
    { label: "planned", ms: planMs, colour: "var(--arm-2)" },
    { label: "waited for its turn", ms: queueMs, colour: "var(--warn)" },
    {
      label: firstTokenMs === null ? "topics and call" : "topics, and call until the first token",
      ms: Math.max(0, until - planMs - queueMs),
      colour: "var(--accent)",
    },
    ...(firstTokenMs === null
      ? []
      : [{ label: "the rest of the answer", ms: Math.max(0, totalMs - firstTokenMs), colour: "var(--good)" }]),
  ];
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
      {decision !== undefined && decision.timings.length > 0 && (
        <p class="note">
          Within planning: {decision.timings.map(({ operator, ms }) => `${operator} ${duration(ms)}`).join(", ")}.
        </p>
      )}
    </Panel>
  );
}

const Said = ({ conversation: { feedback, reward, admission } }: { conversation: Conversation }) => (
  <Panel title="What was said, and what became of it">
    {feedback.length === 0 ? (
      <Nothing>No feedback.</Nothing>
    ) : (
      <ul class="plain">
        {feedback.map((one) => (
          <li key={one.id}>
            <span class="quiet">{whole(one.createdAt)}</span> {one.source}: {one.kind} {one.value ?? ""}
            {one.against !== null && ` against ${one.against}`}
            {one.withdraws !== null && ` withdraws ${one.withdraws}`}
            {one.text !== null && (
              <>
                : <bdi>{one.text}</bdi>
              </>
            )}
            {one.comment !== null && (
              <>
                {" "}
                (<bdi>{one.comment}</bdi>)
              </>
            )}
          </li>
        ))}
      </ul>
    )}
    {reward !== undefined && (
      <p class="note">
        {reward.weight > 0 ? `Reward ${reward.reward.toFixed(3)}, weight ${reward.weight}.` : "Nothing of it counts."}
      </p>
    )}
    {admission !== undefined && (
      <p class="note">
        As an example: {admission.outcome}
        {admission.reason !== "" && `: ${admission.reason}`}.
      </p>
    )}
  </Panel>
);
