// Reads what ClickHouse knows of one request.
import { noTenant } from "../algorithms/selection/shared-domains.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Conversation } from "./conversation.ts";

type Of<K extends keyof Conversation> = NonNullable<Conversation[K]>;

/** The tenants that have a request of that id: several may. */
export async function tenantsOf(clickhouse: Pick<ClickHouse, "query">, id: string): Promise<string[]> {
  const rows = await clickhouse.query<{ tenant: string }>(
    "SELECT DISTINCT tenant FROM requests WHERE request_id = {id:String} ORDER BY tenant LIMIT 16",
    { id },
  );
  return rows.map(({ tenant }) => tenant);
}

/**
 * Null: not recorded. seesShared: for operators, with the texts of examples that other tenants
 * share; their owners allowed models to read them, not the tenant of the request.
 */
export async function findConversation(
  clickhouse: Pick<ClickHouse, "query">,
  id: string,
  tenant: string,
  { seesShared }: { seesShared: boolean },
): Promise<Conversation | null> {
  const [request] = await clickhouse.query<Of<"request">>(
    `SELECT request_id AS id, tenant, domain, messages, documents, passthrough, requires, metadata, allowed_arms AS allowedArms,
            CAST((max_tokens, temperature, top_p, seed, stop), 'Tuple(maxTokens Nullable(Int32), temperature Nullable(Float64), topP Nullable(Float64), seed Nullable(Int64), stop Array(String))') AS params,
            CAST((max_cost, deadline_ms, cost_weight), 'Tuple(maxCost Nullable(Float64), deadlineMs Nullable(Int64), costWeight Nullable(Float64))') AS limits,
            CAST((privacy_cache, privacy_share, privacy_fresh), 'Tuple(cache Bool, share Bool, fresh Bool)') AS privacy, trace_id AS traceId, toUnixTimestamp64Milli(created_at) AS createdAt
     FROM requests FINAL WHERE request_id = {id:String} AND tenant = {tenant:String}`,
    { id, tenant },
  );
  if (request === undefined) return null;
  const parameters = { id, tenant: request.tenant };
  const one = async <T>(sql: string): Promise<T | undefined> => (await clickhouse.query<T>(sql, parameters))[0];
  const its = "request_id = {id:String} AND tenant = {tenant:String}";
  const [recorded, response, alternative, feedback, reward, admission, trial] = await Promise.all([
    one<Of<"decision"> & Beside>(
      `SELECT source, cache_key AS cacheKey, arm, probability, policy_version AS policyVersion, arms, load, saturation, cached_shares AS cachedShares, breakers, reuse_arm AS reuseArm, reuse_example AS reuseExample,
              reuse_similarity AS reuseSimilarity, reuse_quality AS reuseQuality, reuse_bound AS reuseBound, reuse_state AS reuseState, reuse_verifies AS reuseVerifies, asked, ask_probability AS askProbability, alternative_arm AS alternativeArm, degraded, timings, template, helpfulness_version AS helpfulnessVersion,
              threshold, explored_threshold AS exploredThreshold FROM decisions FINAL WHERE ${its}`,
    ),
    one<Of<"response">>(
      `SELECT status, text, passthrough, finish_reason AS finishReason, redacted, arm, model, failed_arms AS failedArms, source, plan_ms AS planMs, queue_ms AS queueMs, first_token_ms AS firstTokenMs, total_ms AS totalMs,
              prompt_tokens AS promptTokens, linked_tokens AS linkedTokens, recomputed_tokens AS recomputedTokens, prefilled_tokens AS prefilledTokens, cached_tokens AS cachedTokens, cache_write_tokens AS cacheWriteTokens,
              completion_tokens AS completionTokens, reasoning_tokens AS reasoningTokens, attempt, billed, failed_cost AS failedCost,
              cost, saved_cost AS savedCost, error_code AS errorCode, error_message AS errorMessage FROM responses FINAL WHERE ${its} AND NOT duplicate`,
    ),
    one<Of<"alternative">>(
      `SELECT status, text, arm, model, total_ms AS totalMs, prompt_tokens AS promptTokens, completion_tokens AS completionTokens,
              cost, error_code AS errorCode, error_message AS errorMessage FROM alternative_answers FINAL WHERE ${its} AND NOT duplicate`,
    ),
    clickhouse.query<Of<"feedback">[number]>(
      `SELECT feedback_id AS id, kind, value, source, against, withdraws, text, comment, toUnixTimestamp64Milli(created_at) AS createdAt
       FROM feedback FINAL WHERE ${its} ORDER BY createdAt, id`,
      parameters,
    ),
    one<Of<"reward">>(`SELECT reward, weight, counted, received FROM rewards FINAL WHERE ${its}`),
    one<Of<"admission">>(
      `SELECT outcome, reason, example_id AS exampleId FROM admissions FINAL WHERE ${its} AND source = 'response'`,
    ),
    one<Of<"trial">>(`SELECT example_id AS id, shown, probability FROM example_trials FINAL WHERE ${its}`),
  ]);
  const decision = recorded && withSaturation(recorded);
  const ids = [...new Set((decision?.arms ?? []).flatMap(({ examples: shown }) => shown.map((example) => example.id)))];
  const examples =
    ids.length === 0
      ? []
      : await clickhouse.query<Of<"examples">[number]>(
          `SELECT example_id AS id, request, response FROM examples FINAL
           WHERE NOT deleted AND domain IN {domains:Array(String)} AND example_id IN {ids:Array(String)}`,
          { ids, domains: domainsOf(request.domain, seesShared) },
        );
  return { request, decision, examples, trial, response, alternative, feedback, reward, admission };
}

/** Sharing domains whose examples a request may be shown, and its reader may read. */
const domainsOf = (domain: string, seesShared: boolean): string[] =>
  seesShared ? [domain, noTenant + domain.slice(domain.indexOf("/"))] : [domain];

/** What in ClickHouse stands beside the arms, by name. */
interface Beside {
  saturation: Record<string, number>;
  cachedShares: Record<string, number>;
}
const withSaturation = ({ saturation, cachedShares, ...decision }: Of<"decision"> & Beside) => ({
  ...decision,
  arms: decision.arms.map((arm) => ({
    ...{ ...arm, saturation: saturation[arm.arm] ?? 0, cachedShare: cachedShares[arm.arm] ?? 0 },
  })),
});
