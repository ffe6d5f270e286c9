// The columns of the list of requests.
import type { RequestRow } from "../data/types/requests.ts";
import { cost, count, domainOf, duration, figure, fraction, time, whole } from "./format.ts";
import { linkTo } from "./hooks.ts";
import { Arm, State } from "./parts.tsx";
import { type Column, numeric } from "./table.tsx";

export const columns: readonly Column<RequestRow>[] = [
  ["Time", (row) => time(row.createdAt), { class: "time", hint: (row) => whole(row.createdAt) }],
  [
    "Request",
    (row) => (
      <a data-row="" href={linkTo("request", { tenant: row.tenant, id: row.id })}>
        <bdi>{row.question === "" ? row.id : row.question}</bdi>
        {row.answer !== "" && <bdi class="answer">{firstLine(row.answer)}</bdi>}
      </a>
    ),
    { class: "text" },
  ],
  [
    "Tenant",
    (row) => (
      <bdi>
        {row.tenant}
        <small class="quiet"> {domainOf(row.domain)}</small>
      </bdi>
    ),
    { class: "nowrap" },
  ],
  [
    "User",
    ({ user, session }) => <bdi>{[user, session].filter((one) => one !== "").join(" · ")}</bdi>,
    { class: "name" },
  ],
  ["Tags", ({ tags }) => <bdi>{tags.join(" ")}</bdi>, { class: "name" }],
  [
    "Arm",
    ({ arm, source }) => (
      <>
        <Arm name={arm} />
        {source !== null && !["generated", "routed", "none"].includes(source) && <small class="source">{source}</small>}
      </>
    ),
    { class: "nowrap" },
  ],
  [
    "p",
    ({ probability }) => (probability === null ? "" : fraction(probability)),
    { ...numeric, title: "probability with which the arm was to be chosen" },
  ],
  [
    "Score",
    ({ score }) => (score === null ? "" : fraction(score)),
    { ...numeric, title: "quality less cost and load, by the router" },
  ],
  ["Ex.", ({ examples }) => (examples === 0 ? "" : examples), { ...numeric, title: "examples shown to the model" }],
  [
    "Tokens",
    ({ promptTokens, completionTokens }) =>
      promptTokens + completionTokens === 0 ? "" : `${count(promptTokens)} + ${count(completionTokens)}`,
    numeric,
  ],
  ["Cost", (row) => (row.state === "open" ? "" : cost(row.cost)), numeric],
  ["First token", ({ firstTokenMs }) => (firstTokenMs === null ? "" : duration(firstTokenMs)), numeric],
  ["Total", ({ totalMs }) => (totalMs === null ? "" : duration(totalMs)), numeric],
  ["Reward", ({ reward }) => (reward === null ? "" : figure(reward)), numeric],
  ["State", (row) => <State state={row.state} code={row.errorCode} />],
];

const hasValue: Readonly<Record<string, (row: RequestRow) => boolean>> = {
  User: ({ user, session }) => user + session !== "",
  Tags: ({ tags }) => tags.length > 0,
  "First token": ({ firstTokenMs }) => firstTokenMs !== null,
};

/** Without those that are empty for all rows: the texts get their space. */
export const filledColumns = (rows: readonly RequestRow[]): Column<RequestRow>[] =>
  columns.filter(([name]) => rows.length === 0 || rows.some(hasValue[name] ?? (() => true)));

/** Columns that a reader may hide. */
export const optional = columns.map(([name]) => name).filter((name) => name !== "Time" && name !== "Request");

const firstLine = (text: string): string => text.trimStart().split("\n", 1)[0] ?? "";
