// The topic `examples`, the table that record makes of it and the policies in memory, for tests of
// place: nothing is compacted, every write of a transaction is at once visible or never, and record
// is as far as the test lets it be.
import { unknownOrigin } from "../../algorithms/identity/origin.ts";
import type { FollowHandlers, Kafka, OutgoingMessage, RawRecord } from "../../connections/kafka/port.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import type { Example, Policy } from "../../schemas/types.ts";
import type { PolicyLog } from "../../state/policies/log.ts";
import { copyHeader, type ReadPosition } from "./mirror.ts";
import { removalMessages } from "./removal.ts";

export const partitions = 4;
export const topic = "examples";
export const groups = { own: "curate", record: "record" };

export const homeOf = (key: string): number => Buffer.from(key).reduce((sum, byte) => sum + byte, 0) % partitions;

export const exampleOf = (domain: string, id: string, version = 0): Example =>
  plainExample({ id, tenant: "t", domain, request: id, response: `version ${version}` });

export const encode = ({ embedding: _vector, ...example }: Example): Buffer => Buffer.from(JSON.stringify(example));
const decode = (value: Buffer): Example => ({
  ...(JSON.parse(value.toString()) as Example),
  embedding: Buffer.alloc(8),
});

export function createExampleTopic() {
  const logs: RawRecord[][] = Array.from({ length: partitions }, () => []);
  const committed = new Map<string, number[]>([[groups.record, logs.map(() => 0)]]);
  const published: Policy[] = [];
  const followers = new Set<() => Promise<void>>();
  let now = 1;
  let failure: { when: "before" | "after"; left: number } | undefined;

  const append = ({ key, value, partition, timestamp, headers = {} }: OutgoingMessage): void => {
    const log = logs[partition ?? homeOf(String(key))];
    log?.push({
      offset: log.length,
      key: Buffer.from(String(key)),
      value,
      headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text as string)])),
      timestamp: timestamp ?? now++,
    });
  };
  const transact = (write: () => void): Promise<void> => {
    const failed = failure !== undefined && failure.left-- <= 0 ? failure.when : undefined;
    if (failed !== undefined) failure = undefined;
    if (failed !== "before") write();
    return failed === undefined ? Promise.resolve() : Promise.reject(new Error(`failed ${failed} the commit`));
  };
  /** The newest of every key, of the partitions as far as they are given. */
  const newest = (upTo: readonly number[]): Map<string, RawRecord> => {
    const table = new Map<string, RawRecord>();
    logs.forEach((log, partition) => {
      for (const record of log.slice(0, upTo[partition])) {
        const key = String(record.key);
        if (record.timestamp >= (table.get(key)?.timestamp ?? -1)) table.set(key, record);
      }
    });
    return table;
  };
  const domainOf = (key: string): string => key.slice(0, key.lastIndexOf("/"));

  const kafka = {
    followTopic(_topic: string, handlers: FollowHandlers) {
      const positions = new Map<number, number>();
      const deliver = async (): Promise<void> => {
        for (const [partition, from] of positions) {
          const records = (logs[partition] ?? []).slice(from);
          const next = from + records.length;
          if (records.length === 0) continue;
          positions.set(partition, next);
          await handlers.onRecords(records, { partition, next, isStale: () => !positions.has(partition) });
        }
      };
      followers.add(deliver);
      return {
        follow: (partition: number, from: number) => void positions.set(partition, from),
        unfollow: (partition: number) => void positions.delete(partition),
        position: (partition: number) => positions.get(partition),
        caughtUp: () => Promise.resolve(),
        stop: () => Promise.resolve(void followers.delete(deliver)),
      };
    },
    spans: () => Promise.resolve(logs.map((log, partition) => ({ partition, beginning: 0, end: log.length }))),
    lag: (group: string) =>
      Promise.resolve(
        logs.map((log, partition) => ({
          partition,
          end: log.length,
          committed: committed.get(group)?.[partition],
          metadata: "",
          origin: unknownOrigin,
        })),
      ),
    origins: () => Promise.resolve(new Map()),
    partitionOf: homeOf,
  } satisfies Pick<Kafka, "followTopic" | "spans" | "lag" | "origins" | "partitionOf">;

  const query = (sql: string, parameters: Record<string, unknown> = {}): unknown[] => {
    const {
      domains = [parameters.domain],
      after = "",
      upTo = "\uffff",
      limit = Infinity,
    } = parameters as {
      domains?: string[];
      after?: string;
      upTo?: string;
      limit?: number;
    };
    const rows = [...newest(committed.get(groups.record) ?? [])]
      .map(([key, record]) => ({ id: key.slice(key.lastIndexOf("/") + 1), domain: domainOf(key), record }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    if (sql.includes("count() AS count")) return [{ count: rows.filter(({ record }) => record.value !== null).length }];
    const own = rows.filter(({ id, domain }) => domains.includes(domain) && id > after && id <= upTo);
    if (sql.includes("uniqExact"))
      return domains.flatMap((domain) => {
        const count = own.filter((row) => row.domain === domain).length;
        return count === 0 ? [] : [{ domain, count }];
      });
    if (sql.includes("DISTINCT")) return own.slice(0, limit).map(({ id }) => ({ id }));
    return own.flatMap(({ record }) => {
      if (record.value === null) return [];
      const { source, ...example } = decode(record.value);
      const columns = { sourceArm: source.arm, sourceModel: source.model, sourceRequestId: source.requestId };
      return [{ ...example, ...columns, vector: [0, 0], timestamp: record.timestamp }];
    });
  };

  return {
    kafka,
    clickhouse: {
      query: <Row>(sql: string, given?: Record<string, unknown>) => Promise.resolve(query(sql, given) as Row[]),
    },
    /** As others write: to the home. */
    put: (domain: string, id: string, version: number | null) =>
      append({
        topic,
        key: `${domain}/${id}`,
        value: version === null ? null : encode(exampleOf(domain, id, version)),
      }),
    /** By hand: from its home and all copies in one transaction, which may fail. */
    remove: (domain: string, id: string) =>
      transact(() => {
        const key = `${domain}/${id}`;
        removalMessages({ topic, key, timestamp: now++ }, homeOf(key), logs.keys()).forEach(append);
      }),
    /** Those on which an example is there. */
    partitionsOf: (domain: string, id: string): number[] =>
      [...logs.keys()].filter(
        (partition) =>
          logs[partition]?.findLast(({ key }) => String(key) === `${domain}/${id}`)?.value instanceof Buffer,
      ),
    publish: (messages: readonly OutgoingMessage[], read: readonly ReadPosition[]) =>
      transact(() => {
        for (const message of messages) append(message);
        const positions = committed.get(groups.own) ?? [];
        for (const { partition, offset } of read) positions[partition] = offset;
        if (read.length > 0) committed.set(groups.own, positions);
      }),
    policies: {
      open: () => Promise.resolve(),
      newest: () => published.at(-1) ?? null,
      async append(make) {
        const policy = make(published.length + 1);
        if (policy !== null) await transact(() => void published.push(policy));
        return policy;
      },
    } satisfies Pick<PolicyLog, "open" | "newest" | "append">,
    published,
    /**
     * A transaction fails, without a trace or with all of it: the next, or the one after so many
     * others.
     */
    fail: (when: "before" | "after", left = 0) => void (failure = { when, left }),
    heal: () => void (failure = undefined),
    /** Hands everything new to those who follow. */
    deliver: async () => {
      for (const follower of followers) await follower();
    },
    /** record gets on by so many records of every partition. */
    record(steps = Infinity) {
      committed.set(
        groups.record,
        logs.map((log, partition) => Math.min(log.length, (committed.get(groups.record)?.[partition] ?? 0) + steps)),
      );
    },
    /** What a partition says of a domain, key by key in its order, up to an offset. */
    contentOf(partition: number, domain: string, upTo = Infinity, withCopies = true): Map<string, string> {
      const content = new Map<string, string>();
      for (const { key, value, headers } of (logs[partition] ?? []).slice(0, upTo)) {
        if (domainOf(String(key)) !== domain || (!withCopies && copyHeader in headers)) continue;
        if (value === null) content.delete(String(key));
        else content.set(String(key), decode(value).response);
      }
      return content;
    },
    /** What the homes say of a domain. */
    homesOf(domain: string): Map<string, string> {
      return new Map(
        logs.flatMap((_, home) =>
          [...this.contentOf(home, domain, Infinity, false)].filter(([key]) => homeOf(key) === home),
        ),
      );
    },
    /** What the homes said of a domain where the mirror is, as far as it is committed. */
    copiedOf(domain: string): Map<string, string> {
      const read = committed.get(groups.own) ?? [];
      return new Map(
        logs.flatMap((_, home) =>
          [...this.contentOf(home, domain, read[home] ?? 0, false)].filter(([key]) => homeOf(key) === home),
        ),
      );
    },
    /** Every record of a key, wherever it lies: its time and whether it is a copy. */
    recordsOf: (key: string) =>
      logs
        .flat()
        .flatMap(({ key: own, timestamp, headers }) =>
          String(own) === key ? [{ timestamp, copy: copyHeader in headers }] : [],
        ),
    length: (partition: number) => logs[partition]?.length ?? 0,
  };
}
export type ExampleTopic = ReturnType<typeof createExampleTopic>;
