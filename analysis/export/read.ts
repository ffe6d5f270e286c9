// What precedent export writes: requests with their answer, reward, correction and preferences,
// page by page in the order of their ids. What was erased is left out. Rejects as the port does.
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { sourceCounts, withWithdrawals } from "../../operators/counting.ts";
import type { Message } from "../../schemas/types.ts";
import { createKnown } from "../import/known.ts";
import { groupBy } from "../../algorithms/lists/lists.ts";

export interface Answer {
  arm: string | null;
  model: string | null;
  text: string;
  /** JSON; empty: nothing beside the text. */
  passthrough: string;
  finish_reason: string | null;
  prompt_tokens: number;
  prefilled_tokens: number;
  completion_tokens: number;
  cost: number;
  waited: number;
  first_token_ms: number | null;
  total_ms: number;
}
export interface Exported {
  id: string;
  tenant: string;
  domain: string;
  messages: Message[];
  /** JSON; empty: nothing beside the messages. */
  passthrough: string;
  max_tokens: number | null;
  temperature: number | null;
  share: boolean;
  metadata: Record<string, string>;
  createdAt: number;
  answer: Answer | null;
  propensity: number | null;
  reward: number | null;
  correction: string | null;
  /** Other arms' answers; outcome above 0.5: the one served is better. */
  preferences: { other: Pick<Answer, "text" | "passthrough">; outcome: number }[];
}

/** A request may have a megabyte, and so may its answer. */
const pageSize = 200;

const selectRequests = `
  SELECT request_id AS id, tenant, domain, messages, passthrough, max_tokens, temperature, privacy_share AS share, metadata,
    toUnixTimestamp64Milli(created_at) AS createdAt
  FROM requests FINAL
  WHERE (request_id, tenant) > ({id:String}, {tenant:String}) AND ({only:String} = '' OR tenant = {only:String})
  ORDER BY request_id, tenant LIMIT ${pageSize}`;
const answerColumns = "request_id AS id, tenant, arm, text, passthrough";
const selectAnswers = `
  SELECT ${answerColumns}, model, finish_reason, prompt_tokens, prefilled_tokens, completion_tokens, cost,
    plan_ms + queue_ms AS waited, first_token_ms, total_ms
  FROM responses FINAL WHERE request_id IN {ids:Array(String)} AND NOT duplicate AND status = 'ok'`;
const selectOthers = `
  SELECT ${answerColumns} FROM alternative_answers FINAL
  WHERE request_id IN {ids:Array(String)} AND NOT duplicate AND status = 'ok'`;
const selectDecisions = `
  SELECT request_id AS id, tenant, arm, probability FROM decisions FINAL
  WHERE request_id IN {ids:Array(String)} AND probability > 0 AND NOT hasAny(degraded, ['policy', 'features'])`;
const selectRewards =
  "SELECT request_id AS id, tenant, reward FROM rewards FINAL WHERE request_id IN {ids:Array(String)} AND weight > 0";
const withFeedback = "SELECT request_id, tenant FROM feedback WHERE request_id IN {ids:Array(String)}";
// Newest of each kind and other arm, of what is not withdrawn.
const selectFeedback = `
  WITH ${withWithdrawals}
  SELECT request_id AS id, tenant, kind, ifNull(against, '') AS other,
    argMax(value, (created_at, kafka_offset, feedback_id)) AS value, argMax(text, (created_at, kafka_offset, feedback_id)) AS text
  FROM feedback FINAL
  WHERE request_id IN {ids:Array(String)} AND kind IN ('reward', 'correction', 'preference', 'comparison')
    AND ${sourceCounts(withFeedback)} AND (request_id, tenant, feedback_id) NOT IN (
      SELECT request_id, tenant, assumeNotNull(withdraws) FROM feedback FINAL
      WHERE withdraws IS NOT NULL AND request_id IN {ids:Array(String)})
  GROUP BY id, tenant, kind, other`;

interface Named {
  id: string;
  tenant: string;
}
interface Given extends Named {
  kind: string;
  other: string;
  value: number | null;
  text: string | null;
}
const keyOf = ({ id, tenant }: Named): string => requestKey(tenant, id);
/** @param tenant empty: all */
export async function* readExported(clickhouse: Pick<ClickHouse, "query">, tenant: string): AsyncGenerator<Exported[]> {
  const known = createKnown(clickhouse);
  for (let after: Named = { id: "", tenant: "" }; ;) {
    const requests = await clickhouse.query<Exported>(selectRequests, { ...after, only: tenant });
    const last = requests.at(-1);
    if (last === undefined) return;
    after = { id: last.id, tenant: last.tenant };
    const ids = { ids: [...new Set(requests.map(({ id }) => id))] };
    const of = async <T extends Named>(sql: string): Promise<Map<string, T[]>> =>
      groupBy(await clickhouse.query<T>(sql, ids), keyOf);
    const answers = await of<Answer & Named>(selectAnswers);
    const others = await of<Answer & Named>(selectOthers);
    const decisions = await of<Named & { arm: string; probability: number }>(selectDecisions);
    const rewards = await of<Named & { reward: number }>(selectRewards);
    const feedback = await of<Given>(selectFeedback);
    const erased = await known.erased(requests.map((row) => ({ ...row, createdAt: Number(row.createdAt) })));
    yield requests
      .filter((row) => !erased.has(keyOf(row)))
      .map((row) => {
        const key = keyOf(row);
        const answer = answers.get(key)?.[0] ?? null;
        const decision = decisions.get(key)?.[0];
        const given = feedback.get(key) ?? [];
        const one = (kind: string): Given | undefined => given.find((piece) => piece.kind === kind);
        return {
          ...row,
          ...{ createdAt: Number(row.createdAt), answer, correction: one("correction")?.text ?? null },
          propensity: answer !== null && decision?.arm === answer.arm ? decision.probability : null,
          // Until learn has made one number of all feedback, what an import brought.
          reward: rewards.get(key)?.[0]?.reward ?? one("reward")?.value ?? null,
          preferences: preferencesOf(given, others.get(key) ?? []),
        };
      });
  }
}

function preferencesOf(given: readonly Given[], others: readonly Answer[]): Exported["preferences"] {
  return others.flatMap((other) => {
    const outcomes = given.flatMap(({ kind, other: against, value }) => {
      if (against !== other.arm || value === null || !["preference", "comparison"].includes(kind)) return [];
      return kind === "preference" ? [(value + 1) / 2] : [Math.abs(value) <= 0.3 ? 0.5 : (value + 3) / 6];
    });
    return outcomes.length === 0
      ? []
      : [{ other, outcome: outcomes.reduce((sum, outcome) => sum + outcome, 0) / outcomes.length }];
  });
}
