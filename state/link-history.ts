// What an arm's processes measured and chose of linked prefill: read from ClickHouse, written to
// prefill-samples and policies. Best effort.
import type { ChunkKind } from "../algorithms/linked-prefill/link-policy.ts";
import { upperKl } from "../algorithms/linked-prefill/policy-choice.ts";
import type { PastSample } from "../arms/linked/choice.ts";
import type { LinkHistory } from "../arms/linked/history.ts";
import { encodeLinkPolicy, linkPolicyName } from "./policies/link.ts";
import type { SessionOf } from "./session.ts";
import { lazyProducer } from "../runtime/send-once.ts";

export interface OpenLinkHistory extends LinkHistory {
  close(): Promise<void>;
}

/** Prompts and caches of longer ago are others. */
const daysRead = 14;
const dayMs = 86_400_000;

const SAMPLES = `
  SELECT request_id AS requestId, policy, recomputed_share AS recomputedShare, kl
  FROM prefill_samples FINAL
  WHERE arm = {arm:String} AND model = {model:String} AND convention = {convention:String}
    AND policy IN {policies:Array(String)} AND created_at >= fromUnixTimestamp64Milli({since:Int64})
  ORDER BY created_at DESC, request_id DESC
  LIMIT {limit:UInt32} BY policy`;

const CHOICES = `
  SELECT JSONExtractString(body, 'chunks') AS kind, JSONExtractString(body, 'policy') AS policy
  FROM policies FINAL
  WHERE name = {name:String} AND JSONExtractString(body, 'model') = {model:String}
    AND JSONExtractString(body, 'convention') = {convention:String}
  ORDER BY version DESC LIMIT 1 BY kind`;

export interface LinkHistoryOptions {
  arm: string;
  /** auto's, nats, by kind of chunk: stand in its choices. */
  bounds: Readonly<Record<ChunkKind, number>>;
}

export function createLinkHistory(
  {
    kafka,
    codec,
    topic,
    clickhouse,
    log,
  }: Pick<
    SessionOf<{ tables: ["ClickHouse"]; outputs: ["policies", "prefill-samples"] }>,
    "kafka" | "codec" | "topic" | "clickhouse" | "log"
  >,
  { arm, bounds }: LinkHistoryOptions,
): OpenLinkHistory {
  // Most arms never have a sample.
  const producer = lazyProducer(kafka);
  // Versions are times, and both kinds' choices may come in one millisecond.
  let last = 0;
  const now = (): number => (last = Math.max(Date.now(), last + 1));
  function send(name: "prefill-samples" | "policies", key: string, value: Buffer): void {
    producer.send([{ topic: topic(name), key, value }]).catch((error: unknown) => {
      log.warn({ err: error, topic: name }, "what was found of linked prefill could not be sent");
    });
  }
  return {
    async samples(of, policies, limit) {
      const since = Date.now() - daysRead * dayMs;
      const rows = await clickhouse.query<PastSample>(SAMPLES, { arm, ...of, policies, since, limit });
      return rows.reverse();
    },
    async choices(of) {
      type Row = { kind: string; policy: string };
      const rows = await clickhouse.query<Row>(CHOICES, { name: linkPolicyName(arm), ...of });
      return new Map(rows.map(({ kind, policy }) => [kind, policy]));
    },
    sampled({ requestId, tenant, policy, recomputedShare, kl, agreement }, of) {
      const record = { requestId, tenant, arm, ...of, policy, recomputedShare, kl, agreement, createdAt: Date.now() };
      send("prefill-samples", requestId, codec.encode("prefill-samples", record));
    },
    chose({ kind, policy, record }, of) {
      const known = record && { kl: record.kl, upperKl: upperKl(record), share: record.share };
      const metrics = { samples: record?.weight ?? 0, ...known };
      const body = { chunks: kind, policy, ...of, bound: bounds[kind] };
      const value = codec.encode("policies", encodeLinkPolicy(arm, body, metrics, now()));
      send("policies", linkPolicyName(arm), value);
    },
    close: producer.close,
  };
}
