// Which answers may become examples: those whose reward is new since the cursor, what people put in
// the place of such answers, and observations from outside. Read from ClickHouse. Rewards have no
// order of arrival (a version may become visible after a later one, feedback may come before its
// response), so the cursor looks back over an overlap and leaves out what was decided on already;
// observations are read by offsets, which record stores in order. Rejects as the ClickHouse port
// does.
import { tokenAuthor } from "../../algorithms/identity/identity.ts";
import { positionName } from "../../algorithms/identity/origin.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Message } from "../../schemas/types.ts";
import { sourceCounts, withWithdrawals } from "../counting.ts";

export interface Candidate {
  source: "response" | "correction" | "observation";
  requestId: string;
  tenant: string;
  domain: string;
  messages: Message[];
  documents: number;
  text: string;
  /** null: unknown, as of observations. */
  finishReason: string | null;
  arm: string;
  model: string;
  privacyCache: boolean;
  privacyShare: boolean;
  /** [0, 1]; null: nothing says how good it is (any more). */
  quality: number | null;
  /** A source other than its feedback token says that it is good, or wrote it. */
  confirmed: boolean;
  /** Version of the reward; 0 for observations. */
  rewardVersion: number;
}

export interface Cursor {
  source: string;
  partition: number;
  position: number;
}

export interface CandidateBatch {
  candidates: Candidate[];
  /** To be stored when all of them are decided on. */
  cursors: Cursor[];
  /** There may be more at once. */
  more: boolean;
}

export interface CandidatesDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  observations: string;
  limit: number;
  /** How far the cursor of the rewards looks back, milliseconds. */
  overlapMs: number;
}

/** Source of the cursor that counts reward versions. */
const rewardsSource = "rewards";
export const curateReader = "curate";

interface Row extends Omit<Candidate, "source"> {
  kafkaOrigin?: string;
  kafkaPartition: number;
  kafkaOffset: number;
}

// The domain's policy is its own: nothing but its own requests is looked at. Copies from a cache
// are candidates nowhere: the first answer was.
const changedRewards = `
  SELECT request_id, tenant, reward, weight, of_session, version FROM rewards FINAL
  WHERE version > {since:UInt64} AND (request_id, tenant, version) NOT IN
    (SELECT request_id, tenant, reward_version FROM admissions WHERE source = {source:String} AND reward_version > {since:UInt64})`;

/** Requests that other feedback than that of tokens speaks well of. Parameter tokenAuthor. */
const confirmed = `
    WITH ${withWithdrawals}
    SELECT DISTINCT request_id, tenant FROM feedback FINAL
    WHERE request_id IN (SELECT request_id FROM (${changedRewards})) AND author != {tokenAuthor:String} AND session_requests = 1
      AND multiIf(kind = 'reward', value >= 0.5, kind = 'score', (value - range_low) / (range_high - range_low) >= 0.5, value > 0)
      AND ${sourceCounts(`SELECT request_id, tenant FROM (${changedRewards})`)}
      AND (request_id, tenant, feedback_id) NOT IN (
        SELECT request_id, tenant, assumeNotNull(withdraws) FROM feedback FINAL
        WHERE request_id IN (SELECT request_id FROM (${changedRewards})) AND withdraws IS NOT NULL)`;

/** From rewards that changed, with their requests. */
const withRequests = (changed: string): string => `
  FROM (${changed}) AS changed
  INNER JOIN (
    SELECT request_id, tenant, domain, messages, length(documents) AS document_count, privacy_cache, privacy_share
    FROM requests FINAL WHERE request_id IN (SELECT request_id FROM (${changed}))
  ) AS request ON request.request_id = changed.request_id AND request.tenant = changed.tenant`;

const selectRewarded = `
  SELECT
    changed.request_id AS requestId, changed.tenant AS tenant, request.domain AS domain, request.messages AS messages,
    request.document_count AS documents, response.text AS text, response.finish_reason AS finishReason,
    ifNull(response.arm, '') AS arm, ifNull(response.model, '') AS model,
    request.privacy_cache AS privacyCache, request.privacy_share AS privacyShare,
    if(changed.weight > 0 AND NOT changed.of_session, toNullable(changed.reward), NULL) AS quality, changed.version AS rewardVersion,
    (changed.request_id, changed.tenant) IN (${confirmed}) AS confirmed
  ${withRequests(changedRewards)}
  INNER JOIN (
    SELECT request_id, tenant, text, finish_reason, arm, model
    FROM responses FINAL
    WHERE request_id IN (SELECT request_id FROM (${changedRewards}))
      AND NOT duplicate AND status = 'ok' AND source = 'generated'
  ) AS response ON response.request_id = changed.request_id AND response.tenant = changed.tenant
  ORDER BY rewardVersion, requestId
  LIMIT {limit:UInt32}`;

// The newest correction of a person that counts; withdrawn it has no quality any more. What does
// not count for its source is as good as withdrawn, and stands behind what does; what comes with a
// token stands behind what comes with a key.
const corrected = `${changedRewards} AND request_id IN (SELECT request_id FROM feedback WHERE kind = 'correction')`;
const selectCorrected = `
  SELECT
    changed.request_id AS requestId, changed.tenant AS tenant, request.domain AS domain, request.messages AS messages,
    request.document_count AS documents, assumeNotNull(correction.text) AS text, NULL AS finishReason, 'person' AS arm, 'correction' AS model,
    request.privacy_cache AS privacyCache, request.privacy_share AS privacyShare,
    if(withdrawal.withdraws IS NULL AND correction.counts, toNullable(1.), NULL) AS quality, changed.version AS rewardVersion,
    correction.author != {tokenAuthor:String} AS confirmed
  ${withRequests(corrected)}
  INNER JOIN (
    WITH ${withWithdrawals}
    SELECT request_id, tenant, feedback_id, author, text, ${sourceCounts(`SELECT request_id, tenant FROM (${corrected})`)} AS counts FROM feedback FINAL
    WHERE request_id IN (SELECT request_id FROM (${corrected})) AND kind = 'correction' AND source = 'person' AND text IS NOT NULL
    ORDER BY counts DESC, author = {tokenAuthor:String}, created_at DESC, feedback_id LIMIT 1 BY request_id, tenant
  ) AS correction ON correction.request_id = changed.request_id AND correction.tenant = changed.tenant
  LEFT ANY JOIN (
    SELECT request_id, tenant, withdraws FROM feedback FINAL
    WHERE request_id IN (SELECT request_id FROM (${corrected})) AND withdraws IS NOT NULL
  ) AS withdrawal ON withdrawal.request_id = changed.request_id AND withdrawal.tenant = changed.tenant AND withdrawal.withdraws = correction.feedback_id
  ORDER BY rewardVersion, requestId
  LIMIT {limit:UInt32}`;

// Every origin of the topic has positions of its own: made again, it begins at 0. `known`: there
// are positions under origins that are known.
const selectObserved = (known: boolean): string => `
  SELECT
    request_id AS requestId, tenant, domain, messages, 0 AS documents, text, NULL AS finishReason, source_arm AS arm, source_model AS model,
    privacy_cache AS privacyCache, privacy_share AS privacyShare, if(quality BETWEEN 0 AND 1, quality, NULL) AS quality, 0 AS rewardVersion, true AS confirmed,
    kafka_partition AS kafkaPartition, kafka_offset AS kafkaOffset, kafka_origin AS kafkaOrigin
  FROM observations
  WHERE topic = {topic:String} AND kafka_offset >= if(kafka_origin = '', {positions:Map(Int32, UInt64)}[kafka_partition],
    ${known ? "{known:Map(String, UInt64)}[concat(kafka_origin, '/', toString(kafka_partition))]" : "0"})
  ORDER BY kafka_origin, kafka_partition, kafka_offset
  LIMIT {limit:UInt32}`;

export function createCandidates({ clickhouse, observations, limit, overlapMs }: CandidatesDependencies) {
  const cursors = (): Promise<Cursor[]> =>
    clickhouse.query<Cursor>(
      `SELECT source, kafka_partition AS partition, position FROM cursors FINAL WHERE reader = {reader:String}`,
      { reader: curateReader },
    );

  const rewarded = async (position: number): Promise<CandidateBatch> => {
    // Versions are microseconds.
    const since = Math.max(0, position - 1_000 * overlapMs);
    // Most of the time there is none, and the two statements below cost twenty times as much.
    const [rewards] = await clickhouse.query<{ newest: number }>("SELECT max(version) AS newest FROM rewards");
    if (rewards !== undefined && rewards.newest <= since) return { candidates: [], cursors: [], more: false };
    const read = async (source: "response" | "correction", sql: string): Promise<Candidate[]> => {
      const rows = await clickhouse.query<Row>(sql, { since, limit, source, tokenAuthor });
      return rows.map((row) => ({ ...row, source }));
    };
    // Answers are read last and decided on first: what a correction replaces is gone when
    // its turn comes.
    const corrections = await read("correction", selectCorrected);
    const answers = await read("response", selectRewarded);
    const found = [...answers, ...corrections];
    const highest = found.reduce((most, { rewardVersion }) => Math.max(most, rewardVersion), position);
    return {
      candidates: found,
      cursors: highest === position ? [] : [{ source: rewardsSource, partition: 0, position: highest }],
      more: answers.length === limit || corrections.length === limit,
    };
  };

  const observed = async (cursorsThere: readonly Cursor[]): Promise<CandidateBatch> => {
    const own = cursorsThere.filter(({ source }) => source === observations);
    const positions = new Map(own.map(({ partition, position }) => [partition, position]));
    const known = new Map(
      cursorsThere
        .filter(({ source }) => source.startsWith(`${observations}@`))
        .map(({ source, partition, position }) => [`${source.slice(observations.length + 1)}/${partition}`, position]),
    );
    const rows = await clickhouse.query<Row>(selectObserved(known.size > 0), {
      ...{ topic: observations, positions, limit },
      ...(known.size > 0 ? { known } : {}),
    });
    const next = new Map<string, Cursor>();
    for (const { kafkaOrigin = "", kafkaPartition: partition, kafkaOffset } of rows) {
      const source = positionName(observations, kafkaOrigin);
      next.set(`${source}/${partition}`, { source, partition, position: kafkaOffset + 1 });
    }
    return {
      candidates: rows.map((row) => ({ ...row, source: "observation" as const })),
      cursors: [...next.values()],
      more: rows.length === limit,
    };
  };

  return async function candidates(): Promise<CandidateBatch> {
    const known = await cursors();
    const position = known.find(({ source }) => source === rewardsSource)?.position ?? 0;
    const [ours, others] = await Promise.all([rewarded(position), observed(known)]);
    return {
      candidates: [...ours.candidates, ...others.candidates],
      cursors: [...ours.cursors, ...others.cursors],
      more: ours.more || others.more,
    };
  };
}
