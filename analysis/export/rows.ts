// An exported request as import reads it, and as files for training hold it. Pure.
import { ownDomain } from "../../algorithms/identity/identity.ts";
import { isDeepStrictEqual } from "node:util";
import { mask, scopeOf, type MaskOptions } from "../../algorithms/privacy/mask.ts";
import { pseudonym } from "../../algorithms/privacy/placeholders.ts";
import { listOf } from "../../algorithms/text/json-shape.ts";
import { objectOf, membersOf } from "../import/foreign.ts";
import type { Column } from "../import/log-row.ts";
import type { Answer, Exported } from "./read.ts";

const passed = (passthrough: string, name: string): unknown => membersOf(passthrough)[name];
const conversation = ({ messages, passthrough }: Exported): unknown => passed(passthrough, "messages") ?? messages;
const toolsOf = ({ passthrough }: Exported): readonly unknown[] => listOf(passed(passthrough, "tools"));
const callsOf = ({ passthrough }: Pick<Answer, "passthrough">): readonly unknown[] =>
  listOf(objectOf(passed(passthrough, "message"))?.["tool_calls"]);

const measured = (milliseconds: number | null, waited: number): number | null =>
  milliseconds === null || milliseconds === 0 ? null : Math.max(0, milliseconds - waited);

/** ClickHouse's types of the columns in Parquet; lists and objects are JSON in texts. */
export const columnTypes = {
  ...{
    id: "String",
    time: "DateTime64(3, 'UTC')",
    tenant: "String",
    domain: "Nullable(String)",
    user: "Nullable(String)",
  },
  ...{ metadata: "Map(String, String)", messages: "String", tools: "Nullable(String)" },
  ...{ max_tokens: "Nullable(Int32)", temperature: "Nullable(Float64)", arm: "Nullable(String)" },
  ...{ model: "Nullable(String)", answer: "Nullable(String)", tool_calls: "Nullable(String)" },
  ...{ finish_reason: "Nullable(String)", reward: "Nullable(Float64)", propensity: "Nullable(Float64)" },
  ...{ correction: "Nullable(String)", prompt_tokens: "Nullable(UInt32)", cached_tokens: "Nullable(UInt32)" },
  ...{ completion_tokens: "Nullable(UInt32)", cost: "Nullable(Float64)" },
  ...{ first_token_ms: "Nullable(Float64)", total_ms: "Nullable(Float64)" },
} as const satisfies Partial<Record<Column, string>>;

/** One of docs/import.md's rows; flat: lists are JSON in texts. */
export function importRow(row: Exported, flat: boolean): Record<keyof typeof columnTypes, unknown> {
  const list = (values: readonly unknown[]): unknown => {
    if (values.length === 0) return null;
    return flat ? JSON.stringify(values) : values;
  };
  const { answer } = row;
  return {
    ...{ id: row.id, time: new Date(row.createdAt).toISOString(), tenant: row.tenant, domain: ownDomain(row.domain) },
    ...{ user: row.metadata["user"] ?? null, metadata: row.metadata },
    ...{ messages: list(listOf(conversation(row))), tools: list(toolsOf(row)) },
    ...{ max_tokens: row.max_tokens, temperature: row.temperature, reward: row.reward, propensity: row.propensity },
    ...{ arm: answer?.arm ?? null, model: answer?.model ?? null, answer: answer?.text ?? null },
    ...{ tool_calls: answer === null ? null : list(callsOf(answer)), finish_reason: answer?.finish_reason ?? null },
    ...{ correction: row.correction, cost: answer?.cost ?? null, prompt_tokens: answer?.prompt_tokens ?? null },
    cached_tokens: answer === null ? null : Math.max(0, answer.prompt_tokens - answer.prefilled_tokens),
    completion_tokens: answer?.completion_tokens ?? null,
    first_token_ms: answer === null ? null : measured(answer.first_token_ms, answer.waited),
    total_ms: answer === null ? null : measured(answer.total_ms, answer.waited),
  };
}

export const trainings = ["sft", "dpo", "openai-dpo"] as const;
export type Training = (typeof trainings)[number];

const assistant = (answer: Pick<Answer, "text" | "passthrough">): object => {
  const calls = callsOf(answer);
  return calls.length === 0
    ? { role: "assistant", content: answer.text }
    : { role: "assistant", content: answer.text === "" ? null : answer.text, tool_calls: calls };
};
const offered = (row: Exported): object => (toolsOf(row).length === 0 ? {} : { tools: toolsOf(row) });
/** Reasons of answers that are cut, failed, or ended for an unknown reason. */
const broken = new Set(["length", "content_filter", "error", "unknown"]);
const isEmpty = (answer: Pick<Answer, "text" | "passthrough">): boolean =>
  answer.text === "" && callsOf(answer).length === 0;

/** Lines for training; none where the request is private or nothing says that an answer is good. */
export function trainingRows(row: Exported, training: Training, minimumReward: number): object[] {
  if (!row.share) return [];
  const { answer, correction, reward } = row;
  const messages = listOf(conversation(row));
  if (training === "sft") {
    const isGood =
      answer !== null && !broken.has(answer.finish_reason ?? "") && reward !== null && reward >= minimumReward;
    const good = correction !== null ? { text: correction, passthrough: "" } : isGood ? answer : null;
    return good === null || isEmpty(good) ? [] : [{ messages: [...messages, assistant(good)], ...offered(row) }];
  }
  return row.preferences.flatMap(({ other, outcome }): object[] => {
    if (answer === null || outcome === 0.5) return [];
    if (isEmpty(answer) || isEmpty(other) || isDeepStrictEqual(assistant(answer), assistant(other))) return [];
    const [better, worse] = (outcome > 0.5 ? [answer, other] : [other, answer]).map((one) => [assistant(one)]);
    return training === "dpo"
      ? [{ prompt: messages, chosen: better, rejected: worse, ...offered(row) }]
      : [{ input: { messages, ...offered(row) }, preferred_output: better, non_preferred_output: worse }];
  });
}

/** With personal data replaced, as record does it (docs/privacy.md). */
export function redacted(row: Exported, options: MaskOptions): Exported {
  const scope = scopeOf(row.tenant, row.id);
  const clean = (text: string, form: "text" | "json" = "text"): string => mask([{ text, scope, form }], options)[0]!;
  const cleaned = <A extends Pick<Answer, "text" | "passthrough">>(answer: A): A => ({
    ...answer,
    ...{ text: clean(answer.text), passthrough: clean(answer.passthrough, "json") },
  });
  const { answer, correction, preferences, messages, metadata } = row;
  return {
    ...row,
    messages: messages.map(({ role, content }) => ({ role, content: clean(content) })),
    passthrough: clean(row.passthrough, "json"),
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([name, value]) =>
        name === "user"
          ? [name, value === "" ? "" : pseudonym(options.key, "user", value)]
          : [clean(name), clean(value)],
      ),
    ),
    ...{ answer: answer === null ? null : cleaned(answer), correction: correction === null ? null : clean(correction) },
    preferences: preferences.map(({ other, outcome }) => ({ other: cleaned(other), outcome })),
  };
}
