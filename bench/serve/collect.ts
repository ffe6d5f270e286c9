// A sitting on the real stages (Kafka, selection, linking): what a request takes besides its model
// is measured under load (with one request at a time, the idle time of all processes would count as
// its cost); for the arm with caches those of the examples that will be shown are made by the code
// of `kv build`; then every arm is asked what is missing.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { configSchema, type ArmConfig } from "../../config/schema.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import { type Client, openClient } from "../../tools/demo/client.ts";
import type { BenchContext } from "../benchmark.ts";
import { produceExamples } from "../support/examples.ts";
import { commit } from "../support/machine.ts";
import { cpuOf, measureOverhead } from "../support/overhead.ts";
import { onStack, serverPids } from "../support/stack.ts";
import { armConfig } from "./arms.ts";
import { askAll, type Asking, askNoModel, noModel, type Wanted } from "./ask.ts";
import { build } from "./build.ts";
import { keyOf, saveAnswers, type Sitting } from "./log.ts";
import { smallerPools } from "./smaller-pools.ts";
import type { Item } from "./stream.ts";

const inFlight = 16;

/** New rows and this sitting are added to the answers. */
export interface Collecting extends Asking {
  /** The stream's requests of this sitting. */
  items: readonly Item[];
}

/** Adds what is missing, as far as the time goes. */
export async function collect(context: BenchContext, given: Collecting): Promise<void> {
  const missing = missingOf(given);
  const items = [...new Set(missing.map(({ item }) => item))];
  const recorded = join(context.folder, "no-answers.jsonl");
  await writeFile(recorded, items.map(({ request }) => JSON.stringify({ request, response: "-" })).join("\n"));
  const none = { name: noModel, type: "recorded", dispatch: "queued", file: recorded, concurrency: inFlight };
  const folder = join(context.folder, "stack");
  const pool = [...given.pool, ...(await smallerPools(context, given.arms, given.pool))];
  await onStack(context, folder, async () => {
    const name = `bench_${randomBytes(4).toString("hex")}`;
    const used = cpuOf(await serverPids(folder));
    const withArms = <T>(arms: unknown[], work: (session: Session) => Promise<T>): Promise<T> =>
      withSession(folder, name, arms, work);
    const sitting: Sitting = { commit: commit(), date: new Date().toISOString(), ...(await withArms([none], prepare)) };
    given.answers.sittings.push(sitting);
    await saveAnswers(given.answers);
    await withArms([none, ...given.arms.map(armConfig)], async (session) => {
      await withClient(session, context.signal, (client) => askAll(context, { ...given, pool }, missing, client, used));
      await session.clickhouse.command(`DROP DATABASE IF EXISTS ${name}`).catch(() => undefined);
    });

    async function prepare(session: Session): Promise<Pick<Sitting, "overhead" | "build">> {
      await produceExamples(session, pool);
      const overhead = await withClient(session, context.signal, async (client) => {
        const measured = await measureOverhead(items, inFlight, (item) => askNoModel(client, item), used);
        await storedIn(session, pool.length, items.length);
        return measured;
      });
      const first = given.arms.find(({ caches }) => caches === "built");
      return { overhead, build: first === undefined ? null : await build(context, session, first, used) };
    }
  });
}

/** All arms of a request before the next request, another arm first each time. */
export function missingOf({ items, arms, answers }: Pick<Collecting, "items" | "arms" | "answers">): Wanted[] {
  return items.flatMap((item) => {
    const first = item.position % arms.length;
    return [...arms.slice(first), ...arms.slice(0, first)]
      .filter(({ only }) => only === undefined || only === item.domain)
      .filter(({ name }) => answers.rows.get(keyOf({ position: item.position, arm: name }))?.hash !== item.hash)
      .map((arm) => ({ item, arm }));
  });
}

async function withSession<T>(
  folder: string,
  name: string,
  arms: unknown[],
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const config = configSchema.parse({
    stack: { folder },
    kafka: { prefix: `${name}.`, partitions: 1 },
    clickhouse: { database: name },
    // Every arm is shown the same examples.
    selection: { explore: { trials: 0, thresholds: 0, orders: 0 } },
    // Each request comes to several arms.
    cache: { enabled: false },
    arms: arms as ArmConfig[],
  });
  const session = await openSession(config, { log: createLog({ level: "error" }) });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

async function withClient<T>(session: Session, signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
  const stages = await startStages(session, { stages: ["plan", "generate", "record"] });
  const client = await openClient(session, signal);
  try {
    return await work(client);
  } finally {
    await client.close();
    await stages.stop();
  }
}

/** Until ClickHouse has the pool and what was shown of it. */
async function storedIn({ clickhouse }: Session, examples: number, requests: number): Promise<void> {
  for (;;) {
    const [row] = await clickhouse.query<{ examples: string; requests: string }>(
      `SELECT (SELECT count() FROM examples FINAL) AS examples,
         (SELECT uniqExact(request_id) FROM decisions FINAL) AS requests`,
    );
    if (Number(row?.examples) >= examples && Number(row?.requests) >= requests) return;
    await sleep(500);
  }
}
