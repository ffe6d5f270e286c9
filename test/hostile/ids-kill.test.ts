// One id, one answer: a process with plan and generate is killed with -9 at seeded moments while
// requests with ids are under way, and clients send them again, as OpenAI's do. record does not run
// meanwhile, as in an outage of ClickHouse: nothing of what the killed process has seen stands
// there. Every id must be answered once, however often it is sent, by a queued and an inline arm;
// its repeats get copies. The endpoint numbers its answers, so two of them differ.
// 3 kills, each of both arms; 20 in npm run soak. PRECEDENT_SEED chooses their moments.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { startNumberedModel, type NumberedModel } from "../support/numbered-model.ts";
import { eventually, requestOf, testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const kills = process.env.PRECEDENT_FULL_COUNTS === undefined ? 3 : 20;
const random = splitmix64(BigInt(process.env.PRECEDENT_SEED ?? 7));
/** Requests of a kill and an arm, sent over this time; it falls within that and a little more. */
const requests = 20;
const issueMs = 1_200;
const arms = ["queued", "inline"] as const;

let folder: string;
let model: NumberedModel;
let session: Session;
let workers: Workers;
let record: RunningStages | undefined;
let tail: { stop(): Promise<void> };
const responses = new Map<string, Response[]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-ids-"));
  model = await startNumberedModel();
  const config = testConfig(
    {
      // What is asked here is delivery: repeats wait until record runs.
      limits: { drainMs: 5_000, deadlineMs: 600_000 },
      record: { batchMs: 200 },
      arms: arms.map((name) => ({
        ...{ name, type: "openai", dispatch: name, baseUrl: model.baseUrl, model: name, concurrency: 8 },
        prices: { prompt: 1, completion: 1 },
      })),
    },
    folder,
  );
  session = await openSession(config, { log: createLog({ level: config.log.level }), clientId: "clients" });
  tail = await follow(session, "responses", (response) => {
    responses.set(response.requestId, [...(responses.get(response.requestId) ?? []), response]);
  });
  workers = createWorkers({ ...config, log: { level: "warn" } }, folder);
  await workers.start(["plan", "generate"], "first");
});
afterAll(async () => {
  await Promise.all([workers.stop(), record?.stop(), model.stop(), tail.stop()]);
  await session.clickhouse.command(`DROP DATABASE IF EXISTS ${session.config.clickhouse.database}`);
  await session.close();
  await rm(folder, { recursive: true, force: true });
});

test(
  `after ${kills} kills every id has one answer, and its repeats have copies of it`,
  { timeout: 1_200_000 },
  async () => {
    const producer = session.kafka.plainProducer();
    const send = (sent: readonly (Request & { id: string })[]): Promise<void> =>
      producer.send(
        sent.map((request) => ({
          topic: session.topic("requests"),
          key: request.id,
          value: session.codec.encode("requests", request),
        })),
      );
    const all: (Request & { id: string })[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const these = Array.from({ length: requests }, (_, i) =>
        arms.map((arm) =>
          requestOf(`question ${kill}.${i}`, {
            id: `${arm}-${kill}-${i}`,
            allow: { arms: [arm], maxCost: null, deadlineMs: null, costWeight: null },
          }),
        ),
      );
      const killed = sleep(random() * (issueMs + 800)).then(() => workers.kill("first"));
      for (const few of these) {
        await send(few);
        await sleep(issueMs / requests);
      }
      await killed;
      // Once while no process is there, once when one is.
      all.push(...these.flat());
      await send(these.flat());
      await workers.start(["plan", "generate"], "first");
      await send(these.flat());
    }
    record = await startStages(session, { stages: ["record"] });
    const sent = 3;
    await eventually(
      "all responses",
      async () => all.every(({ id }) => (responses.get(id)?.length ?? 0) >= sent) || undefined,
      120_000,
    );
    // Nothing comes after them.
    await sleep(500);
    await producer.close();
    const wrong = all.flatMap(({ id }) => {
      const its = responses.get(id) ?? [];
      const firsts = its.filter(({ duplicate }) => !duplicate).length;
      const texts = new Set(its.map(({ status, text }) => `${status} ${text}`));
      return its.length === sent && firsts === 1 && texts.size === 1
        ? []
        : [`${id}: ${firsts} of ${its.length} are first, ${[...texts].join(" / ")}`];
    });
    expect(wrong).toEqual([]);
    expect(workers.ended()).toEqual([]);
  },
);
