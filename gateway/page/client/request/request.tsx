// Explain, as a page: why this arm, why these examples, what was computed of the prompt, when what
// happened. The same that `precedent explain` prints.
import type { Conversation } from "../../../conversation.ts";
import type { WholeRequest } from "../../data/types/asking.ts";
import { cost, duration, figure, time, whole } from "../format.ts";
import { linkTo, useData } from "../hooks.ts";
import { Arm, Nothing, Panel, Problem, Stat, State } from "../parts.tsx";
import { Prompt } from "./prompt.tsx";
import { Feedback } from "./feedback.tsx";
import { Timeline } from "./timeline.tsx";
import { WhyArm } from "./why-arm.tsx";
import { WhyExamples } from "./why-examples.tsx";
import { errorWord, sourceWord } from "../words.ts";
import { Acts } from "./acts.tsx";
import { AskAgain } from "./ask-again.tsx";
import { Asked } from "./asked.tsx";
import { Costs } from "./costs.tsx";
import { callsIn, turnsOf, TurnView, type Turn } from "./turns.tsx";

export function Explain({ id, tenant }: { id: string; tenant: string }) {
  const { data, error, reload } = useData<WholeRequest>("request", { id, tenant }, 5_000);
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
        <Panel title="Conversation">
          {turnsOf(request).map((turn, i) => (
            <TurnView key={i} turn={turn} />
          ))}
          {response !== undefined && <TurnView turn={answerOf(response)} />}
          {response?.redacted === true && <p class="note">Personal data was replaced in the answer.</p>}
          {alternative !== undefined && (
            <TurnView
              turn={{
                who: `Alternative answer of ${alternative.arm ?? "another arm"}, for comparison`,
                parts: [{ text: alternative.status === "ok" ? alternative.text : (alternative.errorMessage ?? "") }],
                calls: [],
              }}
            />
          )}
        </Panel>
        <div>
          <Acts conversation={data} onDone={reload} />
          <Feedback conversation={data} />
          <Timeline decision={decision} response={response} />
          <Asked request={request} />
        </div>
      </div>
      {decision === undefined ? (
        <Nothing>Not planned: refused, or not recorded yet.</Nothing>
      ) : (
        <WhyArm decision={decision} response={response} />
      )}
      {decision !== undefined && (decision.source ?? "routed") === "routed" && (
        <WhyExamples conversation={data} decision={decision} onDone={reload} />
      )}
      <div class="columns">
        {response !== undefined && response.promptTokens > 0 && <Prompt response={response} />}
        <Costs conversation={data} />
      </div>
      <Composed conversation={data} />
      <AskAgain conversation={data} />
    </div>
  );
}

type Answered = NonNullable<Conversation["response"]>;

const answerOf = (response: Answered): Turn => ({
  who: answerer(response),
  parts:
    response.status !== "ok"
      ? [
          {
            text: `${errorWord(response.errorCode ?? "")}${response.errorMessage === null ? "" : `\n${response.errorMessage}`}`,
          },
        ]
      : response.text === "" && callsIn(response.passthrough).length > 0
        ? []
        : [{ text: response.text }],
  calls: callsIn(response.passthrough),
  note: response.finishReason === "length" ? "cut off at its most tokens" : undefined,
});

/** The prompt as the arm got it: examples, then the conversation. */
function Composed({ conversation: { request, decision, examples } }: { conversation: WholeRequest }) {
  const shown = decision?.arms.find(({ arm }) => arm === decision.arm)?.examples ?? [];
  if (shown.length === 0) return null;
  const texts = new Map(examples.map((example) => [example.id, example]));
  const turns = turnsOf(request);
  const system = turns.filter(({ who }) => who === "System");
  const marked = shown.flatMap(({ id }, i): Turn[] => {
    const text = texts.get(id);
    const note = `example ${i + 1}, ${id.slice(0, 12)}`;
    if (text === undefined)
      return [{ who: "Example", parts: [{ text: "It was taken out of the pool since." }], calls: [], note }];
    return [
      { who: "User", parts: [{ text: text.request }], calls: [], note },
      { who: "Assistant", parts: [{ text: text.response }], calls: [], note },
    ];
  });
  return (
    <Panel
      title="Prompt as composed"
      note="Put together from the records: the arm's own system text and template may stand around it. Examples are marked."
    >
      <details class="composed">
        <summary>
          {shown.length} {shown.length === 1 ? "example" : "examples"} before the conversation
        </summary>
        {[...system, ...marked, ...turns.filter(({ who }) => who !== "System")].map((turn, i) => (
          <TurnView key={i} turn={turn} />
        ))}
      </details>
    </Panel>
  );
}

/** Refusals and failures are not an arm's answer. */
const answerer = ({ status, arm, source }: Answered): string =>
  status === "refused"
    ? "Refused"
    : status !== "ok"
      ? `Failed${arm === null ? "" : `, called last: ${arm}`}`
      : source === "cache"
        ? `Answer${arm === null ? "" : ` of ${arm}`}, from the response cache`
        : `Answer${arm === null ? "" : ` of ${arm}`}`;
