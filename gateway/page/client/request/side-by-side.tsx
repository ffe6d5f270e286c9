// Two answers or texts beside each other, with the words that differ marked, and their figures.
import { diffWordsWithSpace } from "diff";
import { useMemo } from "preact/hooks";
import { cost, count, duration } from "../format.ts";
import { Arm } from "../parts.tsx";
import { rowHead, Table } from "../table.tsx";
import { errorWord } from "../words.ts";
import type { Answer } from "./conversation.ts";
import { callsIn } from "./turns.tsx";

/** What is compared of an answer. */
export type Side = Pick<
  Answer,
  "status" | "text" | "passthrough" | "arm" | "model" | "cost" | "promptTokens" | "completionTokens" | "firstTokenMs"
> &
  Pick<Answer, "totalMs" | "errorCode" | "errorMessage">;
export type Two<T> = readonly [left: T, right: T];

/** Texts that differ in nearly everything, or are very long, are shown without marks. */
const bounds = { timeout: 250, maxEditLength: 4_000 };

export function Words({ texts: [left, right], names }: { texts: Two<string>; names: Two<string> }) {
  const parts = useMemo(() => diffWordsWithSpace(left, right, bounds), [left, right]);
  const shown = (text: string, side: "added" | "removed") =>
    parts === undefined
      ? text
      : parts
          .filter(({ added, removed }) => (side === "added" ? !removed : !added))
          .map((part, i) => (part[side] ? <mark key={i}>{part.value}</mark> : part.value));
  return (
    <div class="columns two">
      {(
        [
          [left, "removed"],
          [right, "added"],
        ] as const
      ).map(([text, side], i) => (
        <div key={side} class="turn">
          <h3>{names[i]}</h3>
          <pre dir="auto" tabIndex={0} role="region" aria-label={names[i]}>
            {shown(text, side)}
          </pre>
        </div>
      ))}
    </div>
  );
}

/** The text of an answer, its calls of tools, or why there is none. */
export const textOf = ({ status, text, passthrough, errorCode, errorMessage }: Side): string =>
  status === "ok"
    ? [text, ...callsIn(passthrough).map((call) => `calls ${call.name} ${call.arguments}`)]
        .filter((one) => one !== "")
        .join("\n")
    : [errorWord(errorCode ?? status), errorMessage ?? ""].filter((one) => one !== "").join("\n");

export const answerFacts = ([left, right]: Two<Side>): FactRow[] => [
  ["Arm", <Arm key="left" name={left.arm} />, <Arm key="right" name={right.arm} />],
  ["Model", left.model ?? "–", right.model ?? "–"],
  ["Cost", cost(left.cost), cost(right.cost)],
  ["Tokens of the prompt", count(left.promptTokens), count(right.promptTokens)],
  ["Tokens of the answer", count(left.completionTokens), count(right.completionTokens)],
  ["First token", duration(left.firstTokenMs), duration(right.firstTokenMs)],
  ["Total", duration(left.totalMs), duration(right.totalMs)],
];

export type FactRow = readonly [name: string, left: preact.ComponentChildren, right: preact.ComponentChildren];

export const Facts = ({ names, rows }: { names: Two<string>; rows: readonly FactRow[] }) => (
  <Table
    scrolls="Figures"
    rows={rows}
    keyOf={([name]) => name}
    columns={[
      ["Figure", ([name]) => name, rowHead],
      [names[0], ([, left]) => left],
      [names[1], ([, , right]) => right],
    ]}
  />
);
