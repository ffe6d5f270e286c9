// Actions on an answer: rate it, correct it, keep it as an example.
import { useState } from "preact/hooks";
import type { Conversation } from "../../../conversation.ts";
import { linkTo } from "../hooks.ts";
import { Outcome, Panel, Problem } from "../parts.tsx";
import { useAct } from "../use-act.ts";

interface Given {
  kind: "thumbs" | "score" | "correction";
  value?: number;
  range?: { low: number; high: number };
  text?: string;
}

/** onDone: called when the brokers have it; tables follow later. */
export function Acts({
  conversation: { request, response },
  onDone,
}: {
  conversation: Conversation;
  onDone: () => void;
}) {
  const [correction, setCorrection] = useState<string>();
  const { act, message, problem } = useAct();
  const later = (): void => void setTimeout(onDone, 1_500);
  const give = (given: Given, what: string): void =>
    act("feedback", { tenant: request.tenant, request_id: request.id, ...given }, () => {
      setCorrection(undefined);
      later();
      return `${what} is given. The reward follows when it is learnt from.`;
    });
  const keep = (): void =>
    act<{ id: string }>("example-keep", { tenant: request.tenant, id: request.id }, ({ id }) => {
      later();
      return (
        <>
          The answer is an example: <a href={linkTo("examples", { id })}>{id.slice(0, 12)}</a>.
        </>
      );
    });
  return (
    <Panel
      title="Rate or correct the answer"
      note="Ratings are what the router learns from; a correction becomes an example."
    >
      {response?.status !== "ok" ? (
        <p class="note">There is no answer to rate.</p>
      ) : (
        <div class="acts">
          <button type="button" onClick={() => give({ kind: "thumbs", value: 1 }, "A thumb up")}>
            Good
          </button>
          <button type="button" onClick={() => give({ kind: "thumbs", value: -1 }, "A thumb down")}>
            Bad
          </button>
          <span class="quiet" id="score">
            Score
          </span>
          {[1, 2, 3, 4, 5].map((value) => (
            <button
              type="button"
              key={value}
              aria-label={`Score ${value} of 5`}
              onClick={() => give({ kind: "score", value, range: { low: 1, high: 5 } }, `A score of ${value} of 5`)}
            >
              {value}
            </button>
          ))}
          <button
            type="button"
            aria-expanded={correction !== undefined}
            onClick={() => setCorrection(correction === undefined ? response.text : undefined)}
          >
            Correct it
          </button>
          <button type="button" onClick={keep}>
            Keep as example
          </button>
        </div>
      )}
      {correction !== undefined && (
        <form
          class="correction"
          onSubmit={(event) => {
            event.preventDefault();
            give({ kind: "correction", text: correction }, "The correction");
          }}
        >
          <label>
            <span>The answer that would have been right</span>
            <textarea rows={6} value={correction} onInput={({ currentTarget: { value } }) => setCorrection(value)} />
          </label>
          <button type="submit" class="primary" disabled={correction.trim() === "" || correction === response?.text}>
            Send the correction
          </button>
        </form>
      )}
      <Outcome>{message}</Outcome>
      <Problem error={problem} />
    </Panel>
  );
}
