// Everything that ClickHouse knows of one request.
import { noTenant } from "../algorithms/selection/shared-domains.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { ArmScore, Message, StepTiming } from "../schemas/types.ts";

export interface Conversation {
  request: {
    id: string;
    tenant: string;
    domain: string;
    messages: Message[];
    /** Ids of those that it named. */
    documents: string[];
    /** Requested value; null: the arm's default. */
    params: {
      maxTokens: number | null;
      temperature: number | null;
      topP: number | null;
      seed: number | null;
      stop: string[];
    };
    /**
     * JSON of the members of its body that are no text alone, `messages` with tool calls and images
     * among them; empty: none.
     */
    passthrough: string;
    /** What an arm must declare because of it. */
    requires: string[];
    /** `user` is one of them. */
    metadata: Record<string, string>;
    allowedArms: string[];
    /** Its own limits; null, or absent: those of the configuration. */
    limits?: { maxCost: number | null; deadlineMs: number | null; costWeight: number | null };
    privacy: { cache: boolean; share: boolean; fresh: boolean };
    /** Trace id from the client or the gateway, 32 hexadecimal digits; empty: none. */
    traceId: string;
    createdAt: number;
  };
  decision?:
    | {
        /** cache: a cached answer was given, and no arm chosen; absent: an arm was. */
        source?: "routed" | "cache" | "imported";
        /** Hash under which the answer is kept or was found; empty: it may not be kept. */
        cacheKey?: string;
        arm: string;
        probability: number;
        policyVersion: number;
        template: string;
        /** 0: similarity stood in for helpfulness. */
        helpfulnessVersion: number;
        threshold: number;
        /** Tried instead. */
        exploredThreshold: number | null;
        /** L when it was routed. */
        load: number;
        arms: ArmScore[];
        /** State by arm of the breakers that were not closed. */
        breakers: Record<string, string>;
        /** The arm whose answer could be reused; empty, or absent: none. */
        reuseArm?: string;
        reuseExample?: string;
        reuseSimilarity?: number;
        reuseQuality?: number;
        reuseBound?: number;
        /** on, off or held_back. */
        reuseState?: string;
        reuseVerifies?: boolean;
        /** Feedback was asked for; askProbability: null where it was not logged. */
        asked: boolean;
        askProbability: number | null;
        /** Drawn beside the chosen one where the arms were nearly even. */
        alternativeArm: string | null;
        degraded: string[];
        timings: StepTiming[];
      }
    | undefined;
  /** Those that an arm would have been shown, as far as the table still has them. */
  examples: { id: string; request: string; response: string }[];
  /** The example that chance forced into the prompt or kept out of it. */
  trial?: { id: string; shown: boolean; probability: number } | undefined;
  response?:
    | {
        status: string;
        text: string;
        /** JSON of the rest of its message, such as tool calls; empty: nothing. */
        passthrough: string;
        finishReason: string | null;
        /** Personal data was replaced in it. */
        redacted: boolean;
        arm: string | null;
        model: string | null;
        source: string;
        /** Arms that failed before the one that answered, in order; ms: duration of their calls. */
        failedArms: { arm: string; code: string; message: string; attempts: number; cost: number; ms: number }[];
        /** How long it was planned and waited; first token and total count from its arrival. */
        planMs: number;
        queueMs: number;
        firstTokenMs: number | null;
        totalMs: number;
        promptTokens: number;
        /**
         * Tokens of the prompt: from linked KV caches, of these computed again, and computed as
         * usual.
         */
        linkedTokens: number;
        recomputedTokens: number;
        prefilledTokens: number;
        /** By the endpoint: cached before, and written to its cache. */
        cachedTokens: number;
        cacheWriteTokens: number;
        completionTokens: number;
        reasoningTokens: number;
        /** Model calls, those that were charged, and what failed ones were charged with. */
        attempt: number;
        billed: number;
        failedCost: number;
        cost: number;
        /** What an answer given from the cache had cost. */
        savedCost?: number;
        errorCode: string | null;
        errorMessage: string | null;
      }
    | undefined;
  /** The alternative arm's answer, for comparison. */
  alternative?:
    | {
        status: string;
        text: string;
        arm: string | null;
        model: string | null;
        totalMs: number;
        promptTokens: number;
        completionTokens: number;
        cost: number;
        errorCode: string | null;
        errorMessage: string | null;
      }
    | undefined;
  feedback: {
    id: string;
    kind: string;
    value: number | null;
    source: string;
    against: string | null;
    withdraws: string | null;
    text: string | null;
    comment: string | null;
    createdAt: number;
  }[];
  reward?: { reward: number; weight: number; counted: number; received: number } | undefined;
  /** What curate made of it. */
  admission?: { outcome: string; reason: string; exampleId: string } | undefined;
}

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
