// Explain, as a page: why this arm, why these examples, what was computed of the prompt, when what
// happened. The same that `precedent explain` prints.
import type { Conversation } from "../../../conversation.ts";
import { cost, duration, figure, time, whole } from "../format.ts";
import { linkTo, useData } from "../hooks.ts";
import { Arm, Nothing, Panel, Problem, Stat, State } from "../parts.tsx";
import { Prompt } from "./prompt.tsx";
import { Feedback } from "./feedback.tsx";
import { Timeline } from "./timeline.tsx";
import { WhyArm } from "./why-arm.tsx";
import { WhyExamples } from "./why-examples.tsx";
import { roleWord, sourceWord } from "../words.ts";

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
          note={response === undefined ? undefined : sourceWord(response.source)}
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
            <Turn key={i} who={roleWord(role)} text={content} />
          ))}
          {response !== undefined && (
            <Turn
              who={answerer(response)}
              text={
                response.status === "ok" ? response.text : `${response.errorCode ?? ""}: ${response.errorMessage ?? ""}`
              }
            />
          )}
          {alternative !== undefined && (
            <Turn
              who={`Alternative answer of ${alternative.arm ?? "another arm"}, for comparison`}
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
      {decision !== undefined && (decision.source ?? "routed") === "routed" && (
        <WhyExamples conversation={data} decision={decision} />
      )}
      <div class="columns">
        {response !== undefined && <Prompt response={response} />}
        <Feedback conversation={data} />
      </div>
    </div>
  );
}

/** Refusals and failures are no answer of an arm. */
const answerer = ({ status, arm, source }: NonNullable<Conversation["response"]>): string =>
  status === "refused"
    ? "Refused"
    : status !== "ok"
      ? `Failed${arm === null ? "" : `, called last: ${arm}`}`
      : source === "cache"
        ? `Answer${arm === null ? "" : ` of ${arm}`}, from the response cache`
        : `Answer${arm === null ? "" : ` of ${arm}`}`;

const Turn = ({ who, text }: { who: string; text: string }) => (
  <div class="turn">
    <h3>{who}</h3>
    <pre dir="auto">{text}</pre>
  </div>
);
