// Asks a recorded request again, on an arm or as a version of the router chooses. The answer is
// shown beside the recorded one, and kept nowhere.
import { useState } from "preact/hooks";
import type { AskedAgain, WholeRequest } from "../../data/types/asking.ts";
import type { PolicyVersion } from "../../data/types/policies.ts";
import { fraction } from "../format.ts";
import { useData } from "../hooks.ts";
import { Copied } from "../copied.tsx";
import { Panel, Problem } from "../parts.tsx";
import { useAct } from "../use-act.ts";
import { curlOf, pythonOf } from "./code.ts";
import { answerFacts, Facts, textOf, Words } from "./side-by-side.tsx";

/** In the prices' currency. */
const usualMost = "0.1";
const names = ["Recorded", "Asked again"] as const;

export function AskAgain({ conversation }: { conversation: WholeRequest }) {
  const { request, response, decision, askable } = conversation;
  const { data: versions } = useData<PolicyVersion[]>("policies", { name: "router" });
  const [who, setWho] = useState(`arm ${askable.find((arm) => arm !== response?.arm) ?? askable[0] ?? ""}`);
  const [most, setMost] = useState(usualMost);
  const [asked, setAsked] = useState<AskedAgain>();
  const { act, problem, isBusy } = useAct();
  const maxCost = Number(most);
  const ask = (): void => {
    const name = who.slice(who.indexOf(" ") + 1);
    const by = who.startsWith("arm ") ? { arm: name } : { policyVersion: Number(name) };
    const body = { id: request.id, tenant: request.tenant, maxCost, ...by };
    act<AskedAgain>("ask-again", body, (answer) => (setAsked(answer), ""));
  };
  const hasRouter = (decision?.source ?? "routed") === "routed" && decision !== undefined;
  return (
    <Panel
      title="Ask it again"
      note="With the examples that the decision names for that arm. The answer is kept nowhere: no client gets it, nothing learns from it. The endpoint charges for the call."
    >
      {askable.length === 0 ? (
        <p class="note">
          {request.documents.length > 0
            ? "It names documents, whose texts the gateway does not have."
            : "No configured arm may answer it or has what it needs."}
        </p>
      ) : (
        <form
          class="filters acts"
          onSubmit={(event) => {
            event.preventDefault();
            ask();
          }}
        >
          <label>
            <span>Who answers</span>
            <select value={who} onChange={({ currentTarget: { value } }) => setWho(value)}>
              <optgroup label="An arm">
                {askable.map((arm) => (
                  <option key={arm} value={`arm ${arm}`}>
                    {arm}
                  </option>
                ))}
              </optgroup>
              {hasRouter && (
                <optgroup label="The arm that a version of the router prefers">
                  {(versions ?? []).slice(0, 50).map(({ version }) => (
                    <option key={version} value={`policy ${version}`}>
                      router, version {version}
                    </option>
                  ))}
                  <option value="policy 0">router, before it learnt anything</option>
                </optgroup>
              )}
            </select>
          </label>
          <label>
            <span>Cost at most</span>
            <input
              type="text"
              inputMode="decimal"
              value={most}
              onInput={({ currentTarget: { value } }) => setMost(value)}
            />
          </label>
          <button type="submit" class="primary" disabled={isBusy || most.trim() === "" || !(maxCost >= 0)}>
            {isBusy ? "Asking …" : "Ask again"}
          </button>
        </form>
      )}
      <Problem error={problem} />
      {asked !== undefined && (
        <section role="region" aria-label="Answer of the call">
          <p class="note" role="status">
            {asked.probability !== null &&
              `Version ${asked.policyVersion ?? 0} of the router chooses ${asked.arm} with probability ${fraction(asked.probability)}. `}
            {asked.examples} {asked.examples === 1 ? "example" : "examples"} shown
            {asked.goneExamples > 0 && `; ${asked.goneExamples} left the pool since`}.
          </p>
          {response !== undefined && (
            <>
              <Words texts={[textOf(response), textOf(asked)]} names={names} />
              <Facts names={names} rows={answerFacts([response, asked])} />
            </>
          )}
        </section>
      )}
      <details class="code">
        <summary>As a command line or code, to send it elsewhere</summary>
        <p class="note">
          With the key of a tenant in place of $PRECEDENT_API_KEY; without keys, leave that header out.
        </p>
        <h3>curl</h3>
        <Copied label="The request as a command line with curl" text={curlOf(request, location.origin)} />
        <h3>The client of its API, in Python</h3>
        <Copied label="The request as code of a client" text={pythonOf(request, location.origin)} />
      </details>
    </Panel>
  );
}
