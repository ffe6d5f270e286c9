// Two requests beside each other: what was asked, how it was decided, which examples both were
// shown, and what was answered. The address names both, so that it can be shared.
import type { WholeRequest } from "../data/types/asking.ts";
import { figure, fraction, whole } from "./format.ts";
import { linkTo, useData } from "./hooks.ts";
import { Arm, Nothing, Panel, Problem } from "./parts.tsx";
import { numeric, rowHead, Table } from "./table.tsx";
import { answerFacts, Facts, textOf, Words, type FactRow, type Two } from "./request/side-by-side.tsx";
import { turnsOf } from "./request/turns.tsx";
import { sourceWord } from "./words.ts";

interface Named {
  tenant: string;
  id: string;
}

/** A request in an address: tenant/id, each encoded. */
export const nameOf = ({ tenant, id }: Named): string => `${encodeURIComponent(tenant)}/${encodeURIComponent(id)}`;

/** null: it names none. */
function namedBy(text: string): Named | null {
  const parts = text.split("/");
  try {
    const [tenant = "", id = ""] = parts.map(decodeURIComponent);
    return parts.length === 2 && tenant !== "" && id !== "" ? { tenant, id } : null;
  } catch {
    return null;
  }
}

const names = ["First", "Second"] as const;

export function Compare({ a, b }: { a: string; b: string }) {
  const [left, right] = [namedBy(a), namedBy(b)];
  return left === null || right === null ? (
    <Nothing>Select two requests in the list: each row has a field for it.</Nothing>
  ) : (
    <Both left={left} right={right} />
  );
}

function Both({ left, right }: { left: Named; right: Named }) {
  const [one, other] = [useData<WholeRequest>("request", { ...left }), useData<WholeRequest>("request", { ...right })];
  const error = one.error ?? other.error;
  if (error !== undefined) return <Problem error={error} />;
  if (one.data === undefined || other.data === undefined) return <Nothing>…</Nothing>;
  return <Compared two={[one.data, other.data]} />;
}

const conversationOf = ({ request }: WholeRequest): string =>
  turnsOf(request)
    .map(({ who, parts, calls }) =>
      [
        `${who}:`,
        ...parts.map((part) => ("text" in part ? part.text : "image" in part ? "(an image)" : part.other)),
        ...calls.map((call) => `calls ${call.name} ${call.arguments}`),
      ].join("\n"),
    )
    .join("\n\n");

function Compared({ two }: { two: Two<WholeRequest> }) {
  const [left, right] = two;
  const linked = two.map(({ request: { tenant, id } }) => (
    <a key={id} href={linkTo("request", { tenant, id })}>
      <code>{id}</code>
    </a>
  ));
  const facts = two.map(({ request, decision, response, reward }) => [
    whole(request.createdAt),
    request.domain,
    response === undefined ? "not answered yet" : sourceWord(response.source),
    decision === undefined ? "–" : decision.policyVersion === 0 ? "the prior" : `version ${decision.policyVersion}`,
    reward === undefined || reward.weight === 0 ? "–" : figure(reward.reward),
  ]);
  const rows = ["Arrived", "Domain", "Source", "Router", "Reward"].map((name, i): FactRow => [
    name,
    facts[0]?.[i],
    facts[1]?.[i],
  ]);
  const answers = left.response && right.response && ([left.response, right.response] as const);
  return (
    <>
      <p class="back">
        <a href={linkTo("requests")}>Requests</a> › {linked[0]} and {linked[1]}
      </p>
      <Panel title="Conversations">
        <Words names={names} texts={[conversationOf(left), conversationOf(right)]} />
      </Panel>
      <Panel title="Answers" note="Words that only one of them has are marked.">
        {answers === undefined ? (
          <Nothing>One of them is not answered yet.</Nothing>
        ) : (
          <Words names={names} texts={[textOf(answers[0]), textOf(answers[1])]} />
        )}
        <Facts
          names={names}
          rows={[["Request", linked[0], linked[1]], ...rows, ...(answers ? answerFacts(answers) : [])]}
        />
      </Panel>
      <Arms two={two} />
      <Shown two={two} />
    </>
  );
}

function Arms({ two }: { two: Two<WholeRequest> }) {
  const [left, right] = two.map(({ decision }) => new Map((decision?.arms ?? []).map((score) => [score.arm, score])));
  const arms = [...new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])];
  if (arms.length === 0) return null;
  const scores = arms.map((arm) => [left?.get(arm), right?.get(arm)] as const);
  const column = (label: string, i: 0 | 1, value: (score: NonNullable<(typeof scores)[number][0]>) => number) =>
    [
      `${label}, ${names[i].toLowerCase()}`,
      (_arm: string, row: number) => {
        const score = scores[row]?.[i];
        return score === undefined ? "–" : fraction(value(score));
      },
      numeric,
    ] as const;
  return (
    <Panel title="Arms">
      <Table
        scrolls="Arms"
        rows={arms}
        keyOf={(arm) => arm}
        columns={[
          ["Arm", (arm) => <Arm name={arm} />, rowHead],
          ...([0, 1] as const).map((i) => column("Probability", i, ({ probability }) => probability)),
          ...([0, 1] as const).map((i) => column("Expected quality", i, ({ mean }) => mean)),
          ...([0, 1] as const).map((i) => column("Score", i, ({ sampled, bias }) => sampled - bias)),
        ]}
      />
    </Panel>
  );
}

function Shown({ two }: { two: Two<WholeRequest> }) {
  const texts = new Map(
    two.flatMap(({ examples }) => examples.map((example) => [example.id, example.request] as const)),
  );
  const [left = [], right = []] = two.map(({ decision }) =>
    (decision?.arms.find(({ arm }) => arm === decision.arm)?.examples ?? []).map(({ id }) => id),
  );
  const ids = [...new Set([...left, ...right])];
  const positionIn = (shown: readonly string[], id: string) => (shown.includes(id) ? `${shown.indexOf(id) + 1}.` : "–");
  const shared = left.filter((id) => right.includes(id)).length;
  return (
    <Panel
      title="Examples shown"
      note={`${shared} in both, ${left.length - shared} and ${right.length - shared} in one.`}
    >
      <Table
        none="Neither was shown any."
        scrolls="Examples"
        rows={ids}
        keyOf={(id) => id}
        columns={[
          [
            "Example",
            (id) => <a href={linkTo("examples", { id })}>{texts.get(id) ?? id.slice(0, 12)}</a>,
            { class: "text" },
          ],
          [`Position, ${names[0].toLowerCase()}`, (id) => positionIn(left, id), numeric],
          [`Position, ${names[1].toLowerCase()}`, (id) => positionIn(right, id), numeric],
        ]}
      />
    </Panel>
  );
}
