// What was there when the window began: examples of its domains and policies, from live tables to
// the replay's topics, moved in time; history.ts adds what tables lack.
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { routerVersionsOf, type ExperimentConfig } from "../../config/sections/experiments.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { HELPFULNESS } from "../../state/policies/helpfulness.ts";
import { pinName } from "../../state/policies/pin.ts";
import { ROUTER } from "../../state/policies/router.ts";
import { THRESHOLD } from "../../state/policies/threshold.ts";
import type { Example, Policy } from "../../schemas/types.ts";
import type { Session } from "../../state/session.ts";
import { sendOnce } from "../../runtime/send-once.ts";

export interface Beginning {
  live: Pick<ClickHouse, "query">;
  /** Milliseconds since the epoch; what is younger is not there. */
  at: number;
  /** Added to every time. */
  shift: number;
}

interface ExampleRow extends Omit<Example, "embedding" | "source" | "embeddingModel" | "expiresAt" | "createdAt"> {
  embedding: number[];
  embedding_model: string;
  source_arm: string;
  source_model: string;
  source_request_id: string | null;
  expires_ms: number | null;
  created_ms: number;
}

// No name of a column for what is made of it: WHERE would compare that.
const selectExamples = `
  SELECT example_id AS id, tenant, domain, request, response, embedding, embedding_model, source_arm, source_model, source_request_id,
    quality, bytes, replays, toUnixTimestamp64Milli(expires_at) AS expires_ms, toUnixTimestamp64Milli(created_at) AS created_ms
  FROM examples FINAL
  WHERE domain IN {domains:Array(String)} AND (domain, example_id) > ({domain:String}, {id:String})
    AND NOT deleted AND created_at < fromUnixTimestamp64Milli({at:Int64}, 'UTC')
    AND (expires_at IS NULL OR expires_at > fromUnixTimestamp64Milli({at:Int64}, 'UTC'))
  ORDER BY domain, example_id LIMIT 1000`;

type Target = Pick<Session, "kafka" | "codec" | "topic">;

/** How many examples there are of those; what changed since is as it is now. */
export async function putExamples(
  { kafka, codec, topic }: Target,
  { live, at, shift }: Beginning,
  domains: readonly string[],
): Promise<number> {
  const producer = kafka.plainProducer();
  let [put, after] = [0, { domain: "", id: "" }];
  try {
    for (;;) {
      const rows = await live.query<ExampleRow>(selectExamples, { domains, at, ...after });
      const last = rows.at(-1);
      if (last === undefined) return put;
      await producer.send(
        rows.map((row) => ({
          topic: topic("examples"),
          key: `${row.domain}/${row.id}`,
          value: codec.encode("examples", exampleOf(row, shift)),
        })),
      );
      put += rows.length;
      after = { domain: last.domain, id: last.id };
    }
  } finally {
    await producer.close();
  }
}

const exampleOf = (row: ExampleRow, shift: number): Example => ({
  ...{ id: row.id, tenant: row.tenant, domain: row.domain, request: row.request, response: row.response },
  embedding: embeddingToBytes(Float32Array.from(row.embedding)),
  embeddingModel: row.embedding_model,
  source: { arm: row.source_arm, model: row.source_model, requestId: row.source_request_id },
  ...{ quality: row.quality, bytes: row.bytes, replays: row.replays },
  expiresAt: row.expires_ms === null ? null : row.expires_ms + shift,
  createdAt: row.created_ms + shift,
});

interface PolicyRow {
  name: string;
  tenant: string;
  version: number;
  kind: string;
  body: string;
  reference: string | null;
  hash: string | null;
  feature_version: number;
  trained_ms: number | null;
  metrics: Record<string, number>;
  created_ms: number;
}

const selectPolicies = `
  SELECT name, tenant, version, kind, body, reference, hash, feature_version, metrics,
    toUnixTimestamp64Milli(trained_through) AS trained_ms, toUnixTimestamp64Milli(created_at) AS created_ms
  FROM policies FINAL
  WHERE (name IN {names:Array(String)} AND created_at < fromUnixTimestamp64Milli({at:Int64}, 'UTC'))
    OR name IN {pins:Array(String)}
  ORDER BY name, version DESC LIMIT 1 BY name`;

/**
 * The versions of router, threshold and helpfulness model that were in force, and the pinned
 * versions that the replayed configuration names. Throws where such a pin is not recorded: its
 * experiment would be off in the replay.
 */
export async function policiesAt(
  { live, at }: Omit<Beginning, "shift">,
  experiments: readonly ExperimentConfig[],
): Promise<Policy[]> {
  const pins = routerVersionsOf(experiments).map(pinName);
  const rows = await live.query<PolicyRow>(selectPolicies, { names: [ROUTER, THRESHOLD, HELPFULNESS], pins, at });
  const missing = pins.filter((pin) => !rows.some(({ name }) => name === pin));
  if (missing.length > 0)
    throw new Error(
      `${missing.join(", ")}: experiments name this, and it is not recorded as pinned; pin it (precedent policy pin) and wait for record, or take it out of experiments`,
    );
  return rows.map(({ feature_version, trained_ms, created_ms, ...row }) => ({
    ...row,
    featureVersion: feature_version,
    trainedThrough: trained_ms,
    revertOf: null,
    createdAt: created_ms,
  }));
}

export async function putPolicies({ kafka, codec, topic }: Target, policies: readonly Policy[]): Promise<void> {
  if (policies.length === 0) return;
  await sendOnce(
    kafka,
    policies.map((policy) => ({
      topic: topic("policies"),
      key: policy.name,
      // A proposal has no version yet, and versions count from 1.
      value: codec.encode("policies", { ...policy, version: Math.max(1, policy.version) }),
    })),
  );
}
