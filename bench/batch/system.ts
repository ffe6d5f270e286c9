// The system of bench -- batch: all stages in this process on the embedded stack, with topics and
// tables of their own, a small and a large arm, and the large one's batches at half the price.
import { randomBytes } from "node:crypto";
import { openSession } from "../../pipelines/session.ts";
import { stageNames, startStages } from "../../pipelines/up.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import type { BatchProvider } from "../../test/support/batch-provider.ts";
import { createClient, type Client } from "./client.ts";
import type { Row } from "./figures.ts";

/** routing.costWeight and batch.costWeight. */
export const weights = { live: 0.3, batch: 1 };

export interface System {
  ask: Pick<Client, "live" | "batch">;
  rate: Client["rate"];
  /** Calls of the provider so far, lines of its batches included. */
  calls(): number;
  rows(): Promise<Row[]>;
  /** Rows of other requests than the former, once there are so many requests, or after a minute. */
  recorded(former: ReadonlySet<string>, requests: number): Promise<Row[]>;
  /** Resolves once a policy rests on so many ratings. */
  learnt(ratings: number): Promise<void>;
}

interface Place {
  stackFolder: string;
  provider: BatchProvider;
}

const configOf = ({ stackFolder, provider: { baseUrl } }: Place, name: string) => {
  const arm = { type: "openai", baseUrl, stream: false, retries: 0, concurrency: 64 };
  const large = { ...arm, model: "p-large", prices: { prompt: 10, completion: 20 } };
  return configSchema.parse({
    stack: { folder: stackFolder },
    kafka: { prefix: `${name}.`, partitions: 4 },
    clickhouse: { database: name },
    gateway: { port: 0 },
    record: { batchMs: 100 },
    learn: { everyMs: 250 },
    log: { level: "error" },
    routing: { costWeight: weights.live },
    batch: { costWeight: weights.batch },
    arms: [
      { ...arm, name: "small", model: "p-small", cost: 0.1, prices: { prompt: 1, completion: 2 } },
      { ...large, name: "large", cost: 1 },
      // The mock's time is simulated: a real provider's batch takes minutes to hours.
      { ...large, name: "large-batch", cost: 0.5, batch: "provider", batchCollectMs: 500 },
    ],
  });
};

export async function withSystem<T>(
  { signal }: { signal: AbortSignal },
  place: Place,
  work: (system: System) => Promise<T>,
): Promise<T> {
  const { provider } = place;
  const name = `bench_${randomBytes(4).toString("hex")}`;
  const session = await openSession(configOf(place, name), { log: createLog({ level: "error" }) });
  const { clickhouse } = session;
  const until = async <R>(attempt: () => Promise<R>, isEnough: (found: R) => boolean): Promise<R> => {
    for (const end = performance.now() + 60_000; ;) {
      const found = await attempt();
      if (isEnough(found) || performance.now() > end) return found;
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  // Not FINAL, which would hide a second answer.
  const rows = () =>
    clickhouse.query<Row>(
      "SELECT DISTINCT request_id AS id, status, arm, source, cost, kafka_partition, kafka_offset FROM responses WHERE NOT duplicate",
    );
  const learntFrom = async (): Promise<number> => {
    const [row] = await clickhouse.query<{ rewards: number }>(
      "SELECT max(metrics['rewards']) AS rewards FROM policies WHERE name = 'router'",
    );
    return Number(row?.rewards ?? 0);
  };
  try {
    const stages = await startStages(session, { stages: stageNames.filter((stage) => stage !== "curate") });
    try {
      const client = createClient({ baseUrl: stages.baseUrl ?? "", signal });
      return await work({
        ...{ ask: client, rate: client.rate, rows },
        calls: () => provider.live().length + provider.submitted().flat().length,
        recorded: (former, requests) =>
          until(
            async () => (await rows()).filter(({ id }) => !former.has(id)),
            (found) => new Set(found.map(({ id }) => id)).size >= requests,
          ),
        async learnt(ratings) {
          const found = await until(learntFrom, (known) => known >= ratings);
          if (found < ratings) throw new Error(`the router learnt from ${found} of ${ratings} ratings within a minute`);
        },
      });
    } finally {
      await stages.stop();
    }
  } finally {
    await clickhouse.command(`DROP DATABASE IF EXISTS ${name}`).catch(() => undefined);
    await session.close();
  }
}
