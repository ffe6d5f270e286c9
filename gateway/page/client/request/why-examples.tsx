// Why these examples: those that were shown, and those that only another arm would have had.
import type { Conversation } from "../../../conversation.ts";
import { fraction } from "../format.ts";
import { linkTo } from "../hooks.ts";
import { useState } from "preact/hooks";
import { Bar, ConfirmTakingOut, Outcome, Panel, Problem } from "../parts.tsx";
import { numeric, Table } from "../table.tsx";
import { useAct } from "../use-act.ts";
import type { Decision } from "./conversation.ts";

const chosenOf = (decision: Decision) => decision.arms.find(({ arm }) => arm === decision.arm);

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

export function WhyExamples({
  conversation,
  decision,
  onDone,
}: {
  conversation: Conversation;
  decision: Decision;
  onDone: () => void;
}) {
  const [asked, setAsked] = useState<string>();
  const { act, message, problem } = useAct();
  const remove = (id: string): void =>
    act("example-remove", { id }, () => {
      setTimeout(onDone, 1_500);
      return `Example ${id.slice(0, 12)} is taken out.`;
    });
  const { trial } = conversation;
  const texts = new Map(conversation.examples.map((example) => [example.id, example]));
  const rows = consideredBy(decision);
  const { threshold, exploredThreshold, helpfulnessVersion, template } = decision;
  const by =
    helpfulnessVersion === 0
      ? "similarity stands for helpfulness"
      : `helpfulness as predicted by model version ${helpfulnessVersion}`;
  const tau =
    exploredThreshold === null
      ? `threshold ${fraction(threshold)}`
      : `threshold ${fraction(exploredThreshold)}, tried in place of ${fraction(threshold)}`;
  const how = template === "" ? "" : `; template ${template}`;
  return (
    <Panel title="Why these examples" note={`In the order of the prompt, the most helpful last; ${by}; ${tau}${how}.`}>
      <Table
        none="None was shown: none was similar and helpful enough, or the arm takes none."
        scrolls="Examples"
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          ["Position", ({ what }) => what, { class: "nowrap" }],
          ["Example", ({ id }) => <ExampleText text={texts.get(id)} id={id} />, { class: "text" }],
          ["Similarity", ({ similarity }) => <Bar value={similarity}>{fraction(similarity)}</Bar>],
          ["Helpfulness", ({ helpfulness }) => <Bar value={helpfulness}>{fraction(helpfulness)}</Bar>],
          ["Tokens", ({ tokens }) => tokens, numeric],
          [
            "Action",
            ({ id }) =>
              texts.has(id) && (
                <button type="button" aria-label={`Take out example ${id.slice(0, 12)}`} onClick={() => setAsked(id)}>
                  Take out
                </button>
              ),
            { isHidden: true, class: "nowrap" },
          ],
          ["Cache bonus", ({ cachedBonus }) => (cachedBonus > 0 ? fraction(cachedBonus) : ""), numeric],
        ]}
      />
      <Outcome>{message}</Outcome>
      <Problem error={problem} />
      {asked !== undefined && (
        <ConfirmTakingOut id={asked} onConfirm={() => remove(asked)} onClose={() => setAsked(undefined)} />
      )}
      {trial !== undefined && (
        <p class="note">
          Example <code>{trial.id.slice(0, 12)}</code> was {trial.shown ? "forced in" : "kept out"} by chance
          (probability {fraction(trial.probability)}): the trial that teaches what helps.
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
