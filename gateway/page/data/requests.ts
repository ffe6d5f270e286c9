// The list of requests, newest first. Filters narrow by time and identity before anything is
// joined: of each request that is listed, its decision and response are looked up by key.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { RequestFilter, RequestRow } from "./port.ts";

const mostRows = 200;
const shown = 400;
const hourMs = 3_600_000;
/** A decision or a response may be older than its request says: clocks of clients differ. */
const slackMs = 24 * hourMs;

export async function readRequests(
  clickhouse: Pick<ClickHouse, "query">,
  filter: RequestFilter,
  now: number,
): Promise<RequestRow[]> {
  const before = filter.before ?? now + slackMs;
  const from = filter.from ?? Math.min(now, before) - hourMs;
  const conditions = [
    "created_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')",
    "created_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')",
  ];
  const when = (is: boolean, condition: string): void => {
    if (is) conditions.push(condition);
  };
  const { search = "", tenant = "", domain = "", arm = "", source = "", state } = filter;
  when(tenant !== "", "tenant = {tenant:String}");
  when(domain !== "", "domain = {domain:String}");
  when(
    search !== "",
    "(startsWith(request_id, {search:String}) OR positionCaseInsensitiveUTF8(question, {search:String}) > 0)",
  );
  const recent = "created_at >= fromUnixTimestamp64Milli({early:Int64}, 'UTC')";
  const among = (table: string, condition: string): string =>
    `(request_id, tenant) IN (SELECT request_id, tenant FROM ${table} WHERE ${recent}${condition})`;
  when(source !== "", among("responses", " AND NOT duplicate AND source = {source:String}"));
  when(
    arm !== "",
    `(${among("responses", " AND NOT duplicate AND arm = {arm:String}")} OR ${among("decisions", " AND arm = {arm:String}")})`,
  );
  when(state === "open", `NOT ${among("responses", "")}`);
  when(state !== undefined && state !== "open", among("responses", " AND NOT duplicate AND status = {state:String}"));

  const limit = Math.min(filter.limit ?? mostRows, mostRows);
  const found = await clickhouse.query<Pick<RequestRow, "id" | "tenant" | "domain" | "question" | "createdAt">>(
    `SELECT request_id AS id, tenant, domain, substringUTF8(question, 1, ${shown}) AS question, toUnixTimestamp64Milli(created_at) AS createdAt
     FROM requests FINAL WHERE ${conditions.join(" AND ")} ORDER BY created_at DESC, id LIMIT {limit:UInt32}`,
    { search, tenant, domain, arm, source, state: state ?? "", from, before, early: from - slackMs, limit },
  );
  if (found.length === 0) return [];
  const more = await readMore(clickhouse, found);
  return found.map((row) => {
    const { decision, response, reward } = more.get(keyOf(row)) ?? {};
    return {
      ...row,
      state: response?.status ?? "open",
      arm: response?.arm ?? decision?.arm ?? null,
      source: response?.source ?? decision?.source ?? null,
      // What was given from the cache was not chosen.
      ...(decision?.source === "routed"
        ? { probability: decision.probability, score: decision.score }
        : { probability: null, score: null }),
      examples: decision?.examples ?? 0,
      policyVersion: decision?.policyVersion ?? null,
      cost: response?.cost ?? 0,
      promptTokens: response?.promptTokens ?? 0,
      linkedTokens: response?.linkedTokens ?? 0,
      completionTokens: response?.completionTokens ?? 0,
      queueMs: response?.queueMs ?? null,
      firstTokenMs: response?.firstTokenMs ?? null,
      totalMs: response?.totalMs ?? null,
      reward: reward ?? null,
      errorCode: response?.errorCode ?? null,
      degraded: decision?.degraded ?? [],
    };
  });
}

type Key = Pick<RequestRow, "id" | "tenant">;
const keyOf = ({ id, tenant }: Key): string => JSON.stringify([tenant, id]);

type DecisionPart = Key &
  Pick<RequestRow, "examples" | "degraded"> & {
    arm: string;
    source: string;
    probability: number;
    score: number;
    policyVersion: number;
  };
type ResponsePart = Key &
  Pick<
    RequestRow,
    "arm" | "cost" | "promptTokens" | "linkedTokens" | "completionTokens" | "firstTokenMs" | "errorCode"
  > & {
    status: Exclude<RequestRow["state"], "open">;
    source: string;
    queueMs: number;
    totalMs: number;
  };
interface More {
  decision?: DecisionPart;
  response?: ResponsePart;
  reward?: number;
}

async function readMore(clickhouse: Pick<ClickHouse, "query">, rows: readonly Key[]): Promise<Map<string, More>> {
  const ids = rows.map(({ id }) => id);
  const its = "request_id IN {ids:Array(String)}";
  const [decisions, responses, rewards] = await Promise.all([
    clickhouse.query<DecisionPart>(
      `SELECT request_id AS id, tenant, decision.arm AS arm, source, probability, policy_version AS policyVersion, degraded,
              arrayFirst(one -> one.arm = decision.arm, arms) AS chosen, length(chosen.examples) AS examples, chosen.sampled - chosen.bias AS score
       FROM decisions AS decision FINAL WHERE ${its}`,
      { ids },
    ),
    clickhouse.query<ResponsePart>(
      `SELECT request_id AS id, tenant, status, arm, source, cost, prompt_tokens AS promptTokens, linked_tokens AS linkedTokens,
              completion_tokens AS completionTokens, queue_ms AS queueMs, first_token_ms AS firstTokenMs, total_ms AS totalMs, error_code AS errorCode
       FROM responses FINAL WHERE ${its} AND NOT duplicate`,
      { ids },
    ),
    clickhouse.query<Key & { reward: number }>(
      `SELECT request_id AS id, tenant, reward FROM rewards FINAL WHERE ${its} AND weight > 0`,
      { ids },
    ),
  ]);
  const more = new Map<string, More>();
  const add = (key: Key, part: More): void => void more.set(keyOf(key), { ...more.get(keyOf(key)), ...part });
  for (const decision of decisions) add(decision, { decision });
  for (const response of responses) add(response, { response });
  for (const { reward, ...key } of rewards) add(key, { reward });
  return more;
}
