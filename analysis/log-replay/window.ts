// A window of our own log, from ClickHouse: requests with what was decided, answered and thought of
// the answer, page by page. Nothing is written.
import { FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { requestKey, ownDomain } from "../../algorithms/identity/identity.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { LoggedAnswer, LogRow } from "../../state/log-replay-row.ts";

export interface LogWindow {
  /** Milliseconds since the epoch; `to` is not in it. */
  from: number;
  to: number;
}

interface RequestRow {
  id: string;
  tenant: string;
  domain: string;
  messages: LogRow["request"]["messages"];
  documents: string[];
  max_tokens: number | null;
  temperature: number | null;
  top_p: number | null;
  seed: number | null;
  stop: string[];
  allowed_arms: string[];
  max_cost: number | null;
  deadline_ms: number | null;
  cost_weight: number | null;
  cache: boolean;
  share: boolean;
  fresh: boolean;
  /** Empty: none. */
  passthrough: string;
  requires: string[];
  may_ask: boolean;
  metadata: Record<string, string>;
  at: number;
}

interface AnswerRow {
  id: string;
  tenant: string;
  arm: string | null;
  model: string | null;
  text: string;
  finish_reason: string | null;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  cost: number;
  waited: number;
  first_token_ms: number | null;
  total_ms: number;
}

interface DecisionRow {
  id: string;
  tenant: string;
  arm: string;
  probability: number;
  load: number;
  saturation: Record<string, number>;
}

/** A request may have a megabyte, and so may its answer. */
const pageSize = 200;

// By the identity of rows: pages neither overlap nor leave out requests of the same time.
const selectRequests = `
  SELECT request_id AS id, tenant, domain, messages, documents, max_tokens, temperature, top_p, seed, stop,
    passthrough, requires, allowed_arms, max_cost, deadline_ms, cost_weight, privacy_cache AS cache, privacy_share AS share, privacy_fresh AS fresh, may_ask,
    metadata, toUnixTimestamp64Milli(created_at) AS at
  FROM requests FINAL
  WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND created_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND (toUnixTimestamp64Milli(created_at), request_id, tenant) > ({since:Int64}, {id:String}, {tenant:String})
  ORDER BY created_at, request_id, tenant LIMIT ${pageSize}`;
const selectAnswers = `
  SELECT request_id AS id, tenant, arm, model, text, finish_reason, prompt_tokens, cached_tokens, completion_tokens, cost,
    plan_ms + queue_ms AS waited, first_token_ms, total_ms
  FROM responses FINAL WHERE request_id IN {ids:Array(String)} AND NOT duplicate AND status = 'ok' AND source IN ('generated', 'imported')`;
const selectDecisions = `
  SELECT request_id AS id, tenant, arm,
    if(feature_version = ${FEATURE_VERSION} AND NOT hasAny(degraded, ['policy', 'features']), probability, 0) AS probability, load, saturation
  FROM decisions FINAL WHERE request_id IN {ids:Array(String)}`;
const selectRewards = `
  SELECT request_id AS id, tenant, reward FROM rewards FINAL WHERE request_id IN {ids:Array(String)} AND weight > 0`;

const keyOf = ({ id, tenant }: { id: string; tenant: string }): string => requestKey(tenant, id);
const byKey = <T extends { id: string; tenant: string }>(rows: readonly T[]): Map<string, T> =>
  new Map(rows.map((row) => [keyOf(row), row]));

export async function* readWindow(
  clickhouse: Pick<ClickHouse, "query">,
  { from, to }: LogWindow,
): AsyncGenerator<LogRow[]> {
  let after = { since: from, id: "", tenant: "" };
  for (;;) {
    const requests = await clickhouse.query<RequestRow>(selectRequests, { to, ...after });
    const last = requests.at(-1);
    if (last === undefined) return;
    const ids = { ids: [...new Set(requests.map(({ id }) => id))] };
    const answers = byKey(await clickhouse.query<AnswerRow>(selectAnswers, ids));
    const decisions = byKey(await clickhouse.query<DecisionRow>(selectDecisions, ids));
    const rewards = byKey(await clickhouse.query<{ id: string; tenant: string; reward: number }>(selectRewards, ids));
    yield requests.map((row) => {
      const key = keyOf(row);
      const decision = decisions.get(key);
      return {
        request: requestOf(row),
        answer: answerOf(answers.get(key), decision, rewards.get(key)?.reward ?? null),
        ...{ load: decision?.load ?? 0, saturation: decision?.saturation ?? {} },
      };
    });
    after = { since: last.at, id: last.id, tenant: last.tenant };
  }
}

const requestOf = (row: RequestRow): LogRow["request"] => ({
  ...{
    id: row.id,
    tenant: row.tenant,
    domain: ownDomain(row.domain),
    messages: row.messages,
    documents: row.documents,
  },
  params: {
    ...{ maxTokens: row.max_tokens, temperature: row.temperature, topP: row.top_p, seed: row.seed, stop: row.stop },
  },
  allow: {
    ...{ arms: row.allowed_arms.length === 0 ? null : row.allowed_arms, maxCost: row.max_cost },
    ...{ deadlineMs: row.deadline_ms, costWeight: row.cost_weight },
  },
  privacy: { cache: row.cache, share: row.share, fresh: row.fresh },
  ...{ promptCacheKey: null, cacheSalt: null, batchUntil: null },
  ...{ passthrough: row.passthrough === "" ? null : row.passthrough, requires: row.requires },
  ...{
    mayAsk: row.may_ask,
    mayCompare: false,
    replyPartition: null,
    deltas: false,
    // What a log replay costs is no key's expense.
    account: null,
    metadata: row.metadata,
    createdAt: row.at,
  },
});

/** The reward and the propensity belong to the decision's arm: where another answered, to none. */
function answerOf(
  answer: AnswerRow | undefined,
  decision: DecisionRow | undefined,
  reward: number | null,
): LoggedAnswer | null {
  const arm = answer?.arm ?? decision?.arm;
  if (arm === undefined) return null;
  const decided = decision?.arm === arm;
  const waited = answer?.waited ?? 0;
  const since = (ms: number | null): number | null => (ms === null ? null : Math.max(0, ms - waited));
  return {
    ...{ arm, model: answer?.model ?? null, text: answer?.text ?? null, finishReason: answer?.finish_reason ?? "stop" },
    promptTokens: answer?.prompt_tokens ?? 0,
    prefilledTokens: (answer?.prompt_tokens ?? 0) - (answer?.cached_tokens ?? 0),
    ...{ completionTokens: answer?.completion_tokens ?? 0, cost: answer?.cost ?? 0 },
    ...{ firstTokenMs: since(answer?.first_token_ms ?? null), serviceMs: since(answer?.total_ms ?? null) },
    reward,
    propensity: decided && answer !== undefined && decision.probability > 0 ? decision.probability : null,
  };
}
