// Fills in what a partition lacks of a domain's examples from ClickHouse, in bounded steps. The
// caller sees to it that ClickHouse knows what the mirror has copied, and stops the mirror.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Kafka, OutgoingMessage } from "../../connections/kafka/port.ts";
import type { Example } from "../../schemas/types.ts";
import { copyHeader, publishInParts, type MirrorDependencies } from "./mirror.ts";
import type { Pair } from "./seen.ts";
import { countByDomain, examplesOf, nextExamples, type StoredExample } from "./stored.ts";

export interface FillDependencies<T extends string> {
  clickhouse: Pick<ClickHouse, "query">;
  kafka: Pick<Kafka, "partitionOf">;
  topic: T;
  encode(example: Example): Buffer;
  publish: MirrorDependencies<T>["publish"];
  signal: AbortSignal;
}

export interface Fill {
  /** Has to be filled; what is being filled already goes on. */
  add(domain: string): void;
  size(): number;
  /** One step. openPlaces: partitions of a domain that lack it. Resolves to complete pairs. */
  step(
    unfilledPartitions: (domain: string) => readonly number[],
    partitions: number,
  ): Promise<{ filled: Pair[]; copied: number }>;
}

const most = { domains: 200, names: 4_000, examples: 2_000, page: 200 };

interface Job {
  partitions: readonly number[];
  after: string;
}

export function createFill<T extends string>({
  clickhouse,
  kafka,
  topic,
  encode,
  publish,
  signal,
}: FillDependencies<T>): Fill {
  /** null: not begun. */
  const jobs = new Map<string, Job | null>();

  const copiesOf = (
    { example, timestamp }: StoredExample,
    targets: readonly number[],
    partitions: number,
  ): OutgoingMessage<T>[] => {
    const key = `${example.domain}/${example.id}`;
    // Its home has it, and perhaps something newer.
    const home = kafka.partitionOf(key, partitions);
    const others = targets.filter((partition) => partition !== home);
    if (others.length === 0) return [];
    const value = encode(example);
    return others.map((partition) => ({ topic, key, value, partition, timestamp, headers: { [copyHeader]: "1" } }));
  };

  return {
    add(domain) {
      if (!jobs.has(domain)) jobs.set(domain, null);
    },
    size: () => jobs.size,
    async step(unfilledPartitions, partitions) {
      const names = firstOf(jobs.keys());
      const counts = await countByDomain(
        clickhouse,
        names.filter((name) => jobs.get(name) === null),
      );
      const small: string[] = [];
      let room = most.examples;
      for (const name of names) {
        const count = counts.get(name) ?? 0;
        if (jobs.get(name) !== null || count > most.page || count > room) continue;
        room -= count;
        small.push(name);
      }
      const filled: Pair[] = [];
      let copied = 0;
      const write = async (examples: readonly StoredExample[], targets: (domain: string) => readonly number[]) => {
        const messages = examples.flatMap((one) => copiesOf(one, targets(one.example.domain), partitions));
        await publishInParts(messages, [], publish);
        copied += messages.length;
      };
      const finish = (domain: string, targets: readonly number[]): void => {
        filled.push(...targets.map((partition) => ({ domain, partition })));
        // Others of its partitions were seen meanwhile: they come next.
        if (unfilledPartitions(domain).length > targets.length) jobs.set(domain, null);
        else jobs.delete(domain);
      };

      if (small.length > 0) {
        await write(
          await examplesOf(
            clickhouse,
            small.filter((name) => counts.has(name)),
          ),
          unfilledPartitions,
        );
        for (const name of small) finish(name, unfilledPartitions(name));
      }
      const large = names.find((name) => jobs.has(name) && !small.includes(name));
      if (large === undefined) return { filled, copied };
      const job: Job = jobs.get(large) ?? { partitions: unfilledPartitions(large), after: "" };
      jobs.set(large, job);
      while (room > 0) {
        signal.throwIfAborted();
        const { examples, upTo } = await nextExamples(clickhouse, large, job.after, most.page);
        await write(examples, () => job.partitions);
        room -= most.page;
        if (upTo === null) {
          finish(large, job.partitions);
          break;
        }
        job.after = upTo;
      }
      return { filled, copied };
    },
  };
}

function firstOf(names: Iterable<string>): string[] {
  const first: string[] = [];
  let length = 0;
  for (const name of names) {
    length += encodeURIComponent(name).length;
    if (first.length > 0 && (first.length >= most.domains || length > most.names)) break;
    first.push(name);
  }
  return first;
}
