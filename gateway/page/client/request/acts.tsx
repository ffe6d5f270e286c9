// Actions on an answer: rate it, correct it, repeat the request elsewhere.
import { useState } from "preact/hooks";
import type { Conversation } from "../../../conversation.ts";
import { post } from "../api.ts";
import { Copied, Panel, Problem } from "../parts.tsx";
import { curlOf, pythonOf } from "./code.ts";

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
  const [done, setDone] = useState("");
  const [problem, setProblem] = useState<Error>();
  const give = (given: Given, what: string): void => {
    setProblem(undefined);
    setDone("…");
    post("feedback", { tenant: request.tenant, request_id: request.id, ...given }).then(
      () => {
        setDone(`${what} is given. The reward follows when it is learnt from.`);
        setCorrection(undefined);
        setTimeout(onDone, 1_500);
      },
      (cause: unknown) => {
        setDone("");
        setProblem(cause instanceof Error ? cause : new Error(String(cause)));
      },
    );
  };
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
      <p class="note" role="status">
        {done}
      </p>
      <Problem error={problem} />
    </Panel>
  );
}

export const TakeAway = ({ conversation: { request } }: { conversation: Conversation }) => (
  <Panel
    title="Ask it again elsewhere"
    note="With the key of a tenant in place of $PRECEDENT_API_KEY; without keys, leave that header out."
  >
    <div class="code">
      <h3>curl</h3>
      <Copied label="The request as a command line with curl" text={curlOf(request, location.origin)} />
      <h3>OpenAI&apos;s client in Python</h3>
      <Copied label="The request as code of OpenAI's client" text={pythonOf(request, location.origin)} />
    </div>
  </Panel>
);
