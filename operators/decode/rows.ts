// Records as rows of ClickHouse, a function a topic: snake_case names, nested parts as columns.
// Pure: the same record and position give the same rows.
import { identify, sharingDomain } from "../../algorithms/identity/identity.ts";
import type { Row, TableRows } from "../../runtime/rows.ts";
import type { RecordOf, TopicName } from "../../schemas/records.ts";
import { accountCostRows, arrivalRow, decisionRow, messagesOf, requestRow, responseRow } from "./conversation-rows.ts";
import { exampleRow, exampleTrialRows, exampleUseRows, sourceColumns } from "./example-rows.ts";
import {
  at,
  base64,
  base64OrNull,
  clientTime,
  double,
  doubleOrNull,
  ownTime,
  time,
  timeOrNull,
  type RowPosition,
} from "./values.ts";

/** Topics that clients write, whose clocks are not trusted; our own stages write all others. */
export const clientTopics: ReadonlySet<TopicName> = new Set<TopicName>(["requests", "feedback", "observations"]);

type ToRows<T> = (record: T, position: RowPosition) => TableRows[];

const single =
  <T>(table: string, row: (record: T, position: RowPosition) => Row): ToRows<T> =>
  (record, position) => [{ table, rows: [row(record, position)] }];

const rows = {
  requests: (record, position) => {
    const row = requestRow(record, position);
    return [
      { table: "request_arrivals", rows: [arrivalRow(row, position)] },
      { table: "requests", rows: [row] },
    ];
  },
  decisions: (record, position) => [
    { table: "example_uses", rows: exampleUseRows(record, position) },
    { table: "example_trials", rows: exampleTrialRows(record, position) },
    { table: "decisions", rows: [decisionRow(record, position)] },
  ],
  responses: (record, position) => [
    { table: "account_costs", rows: accountCostRows(record, position) },
    { table: "responses", rows: [responseRow(record, position)] },
  ],
  "alternative-answers": single("alternative_answers", responseRow),
  feedback: single("feedback", (record, position) => ({
    // Without a name of its own it would be the same as all others on the request.
    feedback_id: identify(record, position, position.timestamp).id,
    request_id: record.requestId,
    tenant: record.tenant,
    kind: record.kind,
    value: doubleOrNull(record.value),
    range_low: doubleOrNull(record.range?.low ?? null),
    range_high: doubleOrNull(record.range?.high ?? null),
    source: record.source,
    author: record.author,
    against: record.against,
    text: record.text,
    withdraws: record.withdraws,
    session: record.session ?? "",
    session_requests: Math.max(1, record.sessionRequests),
    comment: record.comment,
    created_at: time(clientTime(record.createdAt, position)),
    reported_at: time(record.createdAt),
    ...at(position),
  })),
  withdrawals: single("withdrawals", (record, position) => ({
    withdrawal_id: record.id,
    tenant: record.tenant,
    source: record.source,
    author: record.author,
    since: timeOrNull(record.since),
    until: timeOrNull(record.until),
    restores: record.restores,
    comment: record.comment,
    created_at: time(ownTime(record.createdAt, position)),
    ...at(position),
  })),
  erasures: (record, position) => [
    {
      table: "erasures",
      rows: record.hashes.map((hash) => ({
        hash,
        erasure_id: record.id,
        before: timeOrNull(record.before),
        created_at: time(ownTime(record.createdAt, position)),
        ...at(position),
      })),
    },
  ],
  examples: single("examples", exampleRow),
  policies: single("policies", (record, position) => ({
    name: record.name,
    tenant: record.tenant,
    version: record.version,
    kind: record.kind,
    body: record.body,
    reference: record.reference,
    hash: record.hash,
    feature_version: record.featureVersion,
    trained_through: timeOrNull(record.trainedThrough),
    metrics: Object.fromEntries(Object.entries(record.metrics).map(([name, value]) => [name, double(value)])),
    revert_of: record.revertOf,
    created_at: time(ownTime(record.createdAt, position)),
    kafka_timestamp: time(position.timestamp),
    ...at(position),
  })),
  "example-replays": single("example_replays", (record, position) => ({
    run_id: record.runId,
    tenant: record.tenant,
    example_id: record.exampleId,
    new_example_id: record.newExampleId,
    attempt: record.attempt,
    old_quality: double(record.oldQuality),
    new_quality: doubleOrNull(record.newQuality),
    tokens: record.tokens,
    cost: double(record.cost),
    outcome: record.outcome,
    gain: doubleOrNull(record.gain),
    arm: record.arm ?? "",
    samples: record.samples,
    relative_cost: doubleOrNull(record.relativeCost),
    created_at: time(ownTime(record.createdAt, position)),
    ...at(position),
  })),
  observations: single("observations", (record, position) => {
    const request = identify(record.request, position, position.timestamp);
    return {
      request_id: request.id,
      tenant: record.tenant,
      domain: sharingDomain(record.tenant, record.domain ?? request.domain),
      messages: messagesOf(request),
      text: record.text,
      ...sourceColumns(record.source),
      quality: doubleOrNull(record.quality),
      privacy_cache: request.privacy.cache,
      privacy_share: request.privacy.share,
      metadata: request.metadata,
      created_at: time(clientTime(record.createdAt, position)),
      reported_at: time(record.createdAt),
      ...at(position),
    };
  }),
  "prefill-samples": single("prefill_samples", (record, position) => ({
    request_id: record.requestId,
    tenant: record.tenant,
    arm: record.arm,
    model: record.model,
    policy: record.policy,
    convention: record.convention,
    recomputed_share: double(record.recomputedShare),
    kl: double(record.kl),
    agreement: double(record.agreement),
    created_at: time(ownTime(record.createdAt, position)),
    ...at(position),
  })),
  "dead-letters": single("dead_letters", (record, position) => ({
    source_topic: record.topic,
    source_partition: record.partition,
    source_offset: record.offset,
    source_first_offset: record.firstOffset ?? record.offset,
    stage: record.stage,
    tenant: record.tenant,
    code: record.code,
    reason: record.reason,
    key_base64: base64OrNull(record.key),
    value_base64: base64OrNull(record.value),
    headers_base64: Object.fromEntries(Object.entries(record.headers).map(([name, bytes]) => [name, base64(bytes)])),
    headers_list_base64: record.headerList.map(({ name, value }) => [name, base64OrNull(value)]),
    full_bytes: record.fullBytes,
    full_sha256: record.fullSha256,
    source_timestamp: timeOrNull(record.timestamp),
    created_at: time(ownTime(record.createdAt, position)),
    ...at(position),
  })),
} satisfies { [N in TopicName]?: ToRows<RecordOf[N]> };

export type RecordedTopic = keyof typeof rows;
export const rowsOf: { [N in RecordedTopic]: ToRows<RecordOf[N]> } = rows;

/** The table with a row for every record of a topic, inserted last. */
export const tableOf = (topic: RecordedTopic): string => topic.replaceAll("-", "_");

export const isRecorded = (topic: string): topic is RecordedTopic => Object.hasOwn(rowsOf, topic);
export const recordedTopics: readonly RecordedTopic[] = Object.keys(rowsOf).filter(isRecorded);

/** Topic without prefix; throws for one that record does not take. */
export function recordedTopicOf(prefix: string): (topic: string) => RecordedTopic {
  return (topic) => {
    const name = topic.startsWith(prefix) ? topic.slice(prefix.length) : "";
    if (!isRecorded(name)) throw new Error(`record does not take the topic ${topic} (kafka.prefix is "${prefix}").`);
    return name;
  };
}
