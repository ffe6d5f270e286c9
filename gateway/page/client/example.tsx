// One example: its texts, where it came from and how it was used, and what can be done about it.
import { useEffect, useState } from "preact/hooks";
import type { WholeExample } from "../data/types/examples.ts";
import { domainOf, figure, fraction, whole } from "./format.ts";
import { linkTo, useData } from "./hooks.ts";
import { Arm, Bar, ConfirmTakingOut, Nothing, Outcome, Panel, Problem } from "./parts.tsx";
import { numeric, Table } from "./table.tsx";
import { useAct } from "./use-act.ts";

/** Until the tables have a new one. */
const awaitedMs = 1_500;

/** onEdited: the corrected one has another id. */
export function Example({ id, onEdited }: { id: string; onEdited: (id: string) => void }) {
  const { data, error, reload } = useData<WholeExample>("example", { id });
  const [edited, setEdited] = useState<{ request: string; response: string }>();
  const [isRemoving, setRemoving] = useState(false);
  const { act, message, problem } = useAct();
  const example = data?.example ?? undefined;
  useEffect(() => {
    if (data === undefined || example !== undefined || message !== "") return undefined;
    const again = setTimeout(reload, awaitedMs);
    return () => clearTimeout(again);
  }, [data, message]);
  const remove = (): void =>
    act("example-remove", { id }, () => {
      setTimeout(reload, awaitedMs);
      return "It is taken out.";
    });
  return (
    <>
      <Panel title="An example" note={<code>{id}</code>}>
        <Problem error={error} />
        {data === undefined && <Nothing>…</Nothing>}
        {data !== undefined && example === undefined && (
          <Nothing>The pool has no such example: it was taken out, or is not recorded yet.</Nothing>
        )}
        {example !== undefined && (
          <>
            <p class="note">
              {domainOf(example.domain)} of {example.tenant}, from{" "}
              {example.requestId === null ? (
                originOf(example)
              ) : (
                <a href={linkTo("request", { tenant: example.tenant, id: example.requestId })}>{originOf(example)}</a>
              )}
              , since {whole(example.createdAt)}
              {example.expiresAt !== null && `, until ${whole(example.expiresAt)}`}; quality {figure(example.quality)}.
            </p>
            {edited === undefined ? (
              (["request", "response"] as const).map((name) => (
                <div key={name} class="turn">
                  <h3>{name === "request" ? "User" : "Assistant"}</h3>
                  <pre dir="auto" tabIndex={0} role="region" aria-label={`Text of the ${name}`}>
                    {example[name]}
                  </pre>
                </div>
              ))
            ) : (
              <form
                class="correction"
                onSubmit={(event) => {
                  event.preventDefault();
                  act<{ id: string }>("example-edit", { id, ...edited }, (made) => (onEdited(made.id), ""));
                }}
              >
                {(["request", "response"] as const).map((name) => (
                  <label key={name}>
                    <span>{name === "request" ? "Request" : "Answer"}</span>
                    <textarea
                      rows={name === "request" ? 3 : 8}
                      value={edited[name]}
                      onInput={({ currentTarget: { value } }) => setEdited({ ...edited, [name]: value })}
                    />
                  </label>
                ))}
                <button
                  type="submit"
                  class="primary"
                  disabled={
                    edited.request.trim() === "" ||
                    edited.response.trim() === "" ||
                    (edited.request === example.request && edited.response === example.response)
                  }
                >
                  Replace it by this
                </button>
              </form>
            )}
            <div class="acts">
              <button
                type="button"
                aria-expanded={edited !== undefined}
                onClick={() =>
                  setEdited(edited === undefined ? { request: example.request, response: example.response } : undefined)
                }
              >
                Edit
              </button>
              <button type="button" onClick={() => setRemoving(true)}>
                Take out
              </button>
            </div>
          </>
        )}
        <Outcome>{message}</Outcome>
        <Problem error={problem} />
        {isRemoving && <ConfirmTakingOut id={id} onConfirm={remove} onClose={() => setRemoving(false)} />}
      </Panel>
      {data !== undefined && <Uses uses={data.uses} />}
    </>
  );
}

/** As curate and imports name it. */
const originOf = ({ sourceArm, sourceModel }: NonNullable<WholeExample["example"]>): string =>
  sourceArm === "person"
    ? "a correction by a person"
    : sourceArm === "import"
      ? "an import"
      : `an answer of ${sourceArm} (${sourceModel})`;

const Uses = ({ uses }: Pick<WholeExample, "uses">) => (
  <Panel title="Answers that it was shown for">
    <Table
      none="It was not shown for an answer in the last two weeks."
      scrolls="Uses"
      rows={uses}
      keyOf={(use) => `${use.tenant}/${use.requestId}`}
      columns={[
        ["Time", ({ createdAt }) => whole(createdAt), { class: "nowrap" }],
        [
          "Request",
          (use) => (
            <a href={linkTo("request", { tenant: use.tenant, id: use.requestId })}>
              <bdi>{use.question === "" ? use.requestId : use.question}</bdi>
            </a>
          ),
          { class: "text" },
        ],
        ["Arm", ({ arm }) => <Arm name={arm} />],
        ["Similarity", ({ similarity }) => <Bar value={similarity}>{fraction(similarity)}</Bar>],
        ["Helpfulness", ({ helpfulness }) => <Bar value={helpfulness}>{fraction(helpfulness)}</Bar>],
        [
          "Quality of the answer",
          (use) => (
            <>
              {figure(use.quality)} <span class="quiet">{use.rated ? "rated" : "predicted"}</span>
            </>
          ),
          numeric,
        ],
      ]}
    />
  </Panel>
);
