// The shown columns of a list's requests, looked up by key.
import { sessionMembers } from "../../../algorithms/identity/session.ts";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { RequestFilter } from "./filters.ts";
import type { RequestList, RequestRow } from "./types/requests.ts";
import { findRequests, type Key } from "./requests-found.ts";

const shown = 400;
const shownAnswer = 160;
const [mostTags, shownTag] = [8, 100];
/** Members of metadata with columns of their own. */
const beside = ["user", ...sessionMembers];

export async function readRequests(clickhouse: Pick<ClickHouse, "query">, filter: RequestFilter): Promise<RequestList> {
  const { keys, searchedFrom } = await findRequests(clickhouse, filter);
  return { rows: keys.length === 0 ? [] : await readRows(clickhouse, keys), searchedFrom };
}

type Asked = Key & Pick<RequestRow, "domain" | "question" | "user" | "session" | "tags" | "createdAt">;

async function readRows(clickhouse: Pick<ClickHouse, "query">, keys: readonly Key[]): Promise<RequestRow[]> {
  const [asked, more] = await Promise.all([
    clickhouse.query<Asked>(
      `WITH mapFilter((name, value) -> NOT has({beside:Array(String)}, name), metadata) AS others
       SELECT request_id AS id, tenant, domain, substringUTF8(question, 1, ${shown}) AS question, metadata['user'] AS user, session,
              arrayMap((name, value) -> substringUTF8(concat(name, '=', value), 1, ${shownTag}), arraySlice(mapKeys(others), 1, ${mostTags}), arraySlice(mapValues(others), 1, ${mostTags})) AS tags,
              toUnixTimestamp64Milli(created_at) AS createdAt
       FROM requests FINAL WHERE request_id IN {ids:Array(String)}`,
      { ids: keys.map(({ id }) => id), beside },
    ),
    readMore(clickhouse, keys),
  ]);
  const byKey = new Map(asked.map((row) => [keyOf(row), row]));
  return keys.flatMap((key) => {
    const { decision, response, reward } = more.get(keyOf(key)) ?? {};
    // An answer can be recorded before its request is.
    const row =
      byKey.get(keyOf(key)) ??
      (response && { ...unsaid, ...key, domain: response.domain, createdAt: response.createdAt });
    if (row === undefined) return [];
    return {
      ...row,
      answer: response?.answer ?? "",
      state: response?.status ?? "open",
      arm: response?.arm ?? decision?.arm ?? null,
      source: response?.source ?? decision?.source ?? null,
      // What was given from the cache was not chosen.
      ...(decision?.source === "routed"
        ? { probability: decision.probability, score: decision.score }
        : { probability: null, score: null }),
      examples: decision?.examples ?? 0,
      cost: response?.cost ?? 0,
      promptTokens: response?.promptTokens ?? 0,
      completionTokens: response?.completionTokens ?? 0,
      firstTokenMs: response?.firstTokenMs ?? null,
      totalMs: response?.totalMs ?? null,
      reward: reward ?? null,
      errorCode: response?.errorCode ?? null,
    };
  });
}

const unsaid = { question: "", user: "", session: "", tags: [] };

const keyOf = ({ id, tenant }: Key): string => JSON.stringify([tenant, id]);

type DecisionPart = Key &
  Pick<RequestRow, "examples"> & {
    arm: string;
    source: string;
    probability: number;
    score: number;
  };
type ResponsePart = Key &
  Pick<
    RequestRow,
    | "domain"
    | "createdAt"
    | "arm"
    | "answer"
    | "cost"
    | "promptTokens"
    | "completionTokens"
    | "firstTokenMs"
    | "errorCode"
  > & {
    status: Exclude<RequestRow["state"], "open">;
    source: string;
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
      `SELECT request_id AS id, tenant, decision.arm AS arm, source, probability,
              arrayFirst(one -> one.arm = decision.arm, arms) AS chosen, length(chosen.examples) AS examples, chosen.sampled - chosen.bias AS score
       FROM decisions AS decision FINAL WHERE ${its}`,
      { ids },
    ),
    clickhouse.query<ResponsePart>(
      `SELECT request_id AS id, tenant, domain, toUnixTimestamp64Milli(created_at) AS createdAt, status, substringUTF8(text, 1, ${shownAnswer}) AS answer, arm, source, cost, prompt_tokens AS promptTokens,
              completion_tokens AS completionTokens, first_token_ms AS firstTokenMs, total_ms AS totalMs, error_code AS errorCode
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
