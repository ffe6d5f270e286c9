// What an arm's processes measured and chose of linked prefill: read from ClickHouse, written to
// prefill-samples and policies. Best effort.
import { upperKl } from "../algorithms/linked-prefill/policy-choice.ts";
import type { PastSample } from "../arms/linked/choice.ts";
import type { LinkHistory } from "../arms/linked/history.ts";
import { encodeLinkPolicy, linkPolicyName } from "./policies/link.ts";
import type { SessionOf } from "./session.ts";

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

const CHOICE = `
  SELECT JSONExtractString(body, 'policy') AS policy
  FROM policies FINAL
  WHERE name = {name:String} AND JSONExtractString(body, 'model') = {model:String}
    AND JSONExtractString(body, 'convention') = {convention:String}
  ORDER BY version DESC LIMIT 1`;

export interface LinkHistoryOptions {
  arm: string;
  /** auto's, nats: stands in its choices. */
  bound: number;
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
  { arm, bound }: LinkHistoryOptions,
): OpenLinkHistory {
  // Most arms never have a sample.
  let producer: ReturnType<typeof kafka.plainProducer> | undefined;
  function send(name: "prefill-samples" | "policies", key: string, value: Buffer): void {
    producer ??= kafka.plainProducer();
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
    async choice(of) {
      const [row] = await clickhouse.query<{ policy: string }>(CHOICE, { name: linkPolicyName(arm), ...of });
      return row?.policy ?? null;
    },
    sampled({ requestId, tenant, policy, recomputedShare, kl, agreement }, of) {
      const record = { requestId, tenant, arm, ...of, policy, recomputedShare, kl, agreement, createdAt: Date.now() };
      send("prefill-samples", requestId, codec.encode("prefill-samples", record));
    },
    chose({ policy, record }, of) {
      const known = record && { kl: record.kl, upperKl: upperKl(record), share: record.share };
      const metrics = { samples: record?.weight ?? 0, ...known };
      const value = codec.encode("policies", encodeLinkPolicy(arm, { policy, ...of, bound }, metrics, Date.now()));
      send("policies", linkPolicyName(arm), value);
    },
    close: async () => producer?.close(),
  };
}
