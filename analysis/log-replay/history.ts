// Examples and documents as of the window's beginning, as far as compacted topics have them (about
// a day); tables keep the newest state alone. Erased ones stay away.
import { erasedRequest, erasedTenant } from "../../algorithms/privacy/erasure.ts";
import { documentKey } from "../../connections/documents/port.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Kafka, OutgoingMessage, RawRecord } from "../../connections/kafka/port.ts";
import type { Erased } from "../../operators/erased.ts";
import { decodeWithRetries } from "../../runtime/decode.ts";
import type { RecordOf } from "../../schemas/records.ts";
import type { Document, Example } from "../../schemas/types.ts";
import type { Session } from "../../state/session.ts";

type Target = Pick<Session, "kafka" | "codec" | "topic">;

export interface History {
  kafka: Pick<Kafka, "readTopic" | "spans" | "partitionOf">;
  topic: string;
  erasedAmong: (hashes: Iterable<string>) => Promise<Erased>;
  /** When the window began, milliseconds since the epoch. */
  at: number;
}

interface Kind<N extends "examples" | "documents"> {
  name: N;
  /** Whether a record belongs to what was there; asked in the order of each key. */
  wants(key: string, record: RawRecord, partition: number): boolean;
  /** Called for every record that is sent to the log replay; null: a tombstone. */
  onSent?(key: string, value: RecordOf[N] | null): unknown;
  /** undefined: as it is. */
  moved?(record: RecordOf[N]): RecordOf[N];
}

async function copy<N extends "examples" | "documents">(
  target: Target,
  { kafka, topic, erasedAmong }: History,
  { name, wants, moved, onSent }: Kind<N>,
): Promise<void> {
  const producer = target.kafka.plainProducer();
  const decoded = async (value: Buffer): Promise<RecordOf[N] | undefined> => {
    const found = await decodeWithRetries(target.codec, name, value);
    return found.ok ? found.value : undefined;
  };
  const reader = kafka.readTopic(topic, async (records, partition) => {
    const wanted: { key: string; record: RecordOf[N] | null }[] = [];
    for (const one of records) {
      const key = one.key?.toString("utf8");
      if (key === undefined || !wants(key, one, partition)) continue;
      const record = one.value === null ? null : await decoded(one.value);
      if (record !== undefined) wanted.push({ key, record });
    }
    const erased = await erasedAmong(wanted.flatMap(({ record }) => hashesOf(record)));
    const messages = wanted.flatMap(({ key, record }): OutgoingMessage[] => {
      if (record !== null && hashesOf(record).some((hash) => (erased.get(hash) ?? -Infinity) > record.createdAt))
        return [];
      onSent?.(key, record);
      const value = record === null ? null : target.codec.encode(name, moved?.(record) ?? record);
      return [{ topic: target.topic(name), key, value }];
    });
    if (messages.length > 0) await producer.send(messages);
  });
  try {
    await reader.caughtUp;
  } finally {
    await reader.stop();
    await producer.close();
  }
}

function hashesOf(record: Example | Document | null): string[] {
  if (record === null) return [];
  const request = "source" in record ? record.source.requestId : null;
  return [erasedTenant(record.tenant), ...(request === null ? [] : [erasedRequest(record.tenant, request)])];
}

export interface ExampleHistory {
  restored: number;
  /** Changed since, and shown as they are now. */
  asOfNow: number;
  /** Removed since, and not to be had; some may be younger than the window's beginning. */
  gone: number;
}

/** More changes than these: the oldest count as not to be had. */
const mostChanges = 200_000;
const selectChanged = `
  SELECT concat(domain, '/', example_id) AS key, deleted, created_at < fromUnixTimestamp64Milli({at:Int64}, 'UTC') AS old
  FROM examples FINAL
  WHERE domain IN {domains:Array(String)} AND kafka_timestamp >= fromUnixTimestamp64Milli({at:Int64}, 'UTC')
  ORDER BY kafka_timestamp DESC LIMIT ${mostChanges}`;

/** To be put behind what the table has: what comes later on a topic holds. */
export async function putFormerExamples(
  target: Target,
  history: History,
  { live, domains, shift }: { live: Pick<ClickHouse, "query">; domains: readonly string[]; shift: number },
): Promise<ExampleHistory> {
  const { kafka, topic, at } = history;
  const changed = new Map(
    (await live.query<{ key: string; deleted: boolean; old: boolean }>(selectChanged, { domains, at })).map(
      ({ key, ...row }) => [key, row],
    ),
  );
  if (changed.size === 0) return { restored: 0, asOfNow: 0, gone: 0 };
  const partitions = (await kafka.spans(topic)).length;
  const known = new Map<string, boolean>();
  await copy(target, history, {
    name: "examples",
    // In the key's own partition: a removal goes to all, and they have no order among them.
    wants: (key, { timestamp }, partition) =>
      timestamp < at && changed.has(key) && kafka.partitionOf(key, partitions) === partition,
    onSent: (key, value) => known.set(key, value !== null),
    moved: (example) => ({
      ...example,
      createdAt: example.createdAt + shift,
      expiresAt: example.expiresAt === null ? null : example.expiresAt + shift,
    }),
  });
  const unknown = [...changed].flatMap(([key, row]) => (known.has(key) ? [] : [row]));
  return {
    restored: [...known.values()].filter(Boolean).length,
    asOfNow: unknown.filter(({ deleted, old }) => !deleted && old).length,
    gone: unknown.filter(({ deleted }) => deleted).length,
  };
}

/** Those that the log names, as of the window's beginning, else the first version there is. */
export async function putDocuments(
  target: Target,
  history: History,
  named: Iterable<{ tenant: string; id: string }>,
): Promise<void> {
  const there = new Map(Array.from(named, ({ tenant, id }): [string, boolean] => [documentKey(tenant, id), false]));
  if (there.size === 0) return;
  await copy(target, history, {
    name: "documents",
    wants(key, { timestamp, value }) {
      const before = there.get(key);
      if (before === undefined || (timestamp >= history.at && (before || value === null))) return false;
      there.set(key, value !== null);
      return true;
    },
  });
}
