// Every stage in several processes that are killed with -9, frozen past their session and thawed,
// joined and left, while requests come at a steady rate. Every request must be answered exactly
// once and stand exactly once in every table. Requests alternate between an arm with a generate
// stage and an inline arm, which plan calls itself. npm run soak sends twice as many in the
// same time. The seed makes the schedule repeatable: PRECEDENT_SEED=7, PRECEDENT_REQUESTS=5000.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import type { StageName } from "../../pipelines/up.ts";
import { importPairs } from "../../cli/examples.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createLog } from "../../runtime/log.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { createOracle, notOnce, type Oracle } from "../support/oracle.ts";
import { testStack } from "../support/stack.ts";
import { testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const seed = BigInt(process.env.PRECEDENT_SEED ?? 7);
const full = process.env.PRECEDENT_FULL_COUNTS !== undefined;
const requests = Number(process.env.PRECEDENT_REQUESTS ?? (full ? 2_400 : 1_200));
const perSecond = Number(process.env.PRECEDENT_RATE ?? (full ? 60 : 30));
const keepFolder = process.env.PRECEDENT_KEEP !== undefined;
const sessionTimeoutMs = 6_000;
const arms = ["small", "large"];
const topics: StageName[] = ["plan", "generate", "record"];
const slots = topics.flatMap((stage) => ["a", "b"].map((slot) => ({ stage, instance: `${stage}-${slot}` })));
const questions = Array.from({ length: 50 }, (_, i) => `How do I list the files of folder number ${i}?`);

let folder: string;
let session: Session;
let workers: Workers;
let oracle: Oracle;

noBrokerDefects(() => testStack().folder);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-kill-"));
  const file = join(folder, "pairs.jsonl");
  await writeFile(file, questions.map((request, i) => JSON.stringify({ request, response: `ls ${i}` })).join("\n"));
  const config = testConfig(
    {
      kafka: { sessionTimeoutMs },
      // What is asked here is delivery: on a busy machine nothing may be refused for coming late.
      limits: { drainMs: 5_000, deadlineMs: 600_000 },
      // Answers come out of order, so that every kill finds gaps.
      arms: arms.map((name, i) => ({
        name,
        type: "recorded",
        dispatch: i === 0 ? "queued" : "inline",
        file,
        cost: i ? 1 : 0.1,
        latencyMs: 5,
        latencySpreadMs: 400,
        concurrency: 256,
      })),
    },
    folder,
  );
  session = await openSession(config, { log: createLog({ level: config.log.level }), clientId: "oracle" });
  const embedder = await openEmbedder(config, { log: session.log });
  await importPairs({ session, embedder, file, options: { tenant: "default" } });
  await embedder.close();
  workers = createWorkers(
    { ...config, log: { level: process.env.PRECEDENT_TEST_LOG === undefined ? "warn" : config.log.level } },
    folder,
  );
  oracle = await createOracle({
    session,
    arms,
    prefix: "r",
    questionOf: (i) => questions[i % questions.length] ?? "",
    more: (i) => ({
      allow: { arms: arms.slice(i % 2, (i % 2) + 1), maxCost: null, deadlineMs: null, costWeight: null },
    }),
  });
  await Promise.all(slots.map(({ stage, instance }) => workers.start(stage, instance)));
});
afterAll(async () => {
  await workers.stop();
  await oracle.stop();
  await session.close();
  if (!keepFolder) await rm(folder, { recursive: true, force: true });
});

test(
  "kill -9, frozen processes, joins and leaves: every request is answered once and recorded once",
  { timeout: 500_000 },
  async () => {
    const random = splitmix64(seed);
    const began = Date.now();
    const counts = { kill: 0, freeze: 0, join: 0, leave: 0 };
    const busy = new Set<string>();
    let issuing = true;
    const issued = oracle.issue(requests, perSecond).finally(() => (issuing = false));

    const kill = async ({ stage, instance }: (typeof slots)[number]): Promise<void> => {
      counts.kill++;
      busy.add(instance);
      await workers.kill(instance);
      await sleep(500);
      await workers.start(stage, instance);
      busy.delete(instance);
    };
    const freeze = async ({ instance }: (typeof slots)[number]): Promise<void> => {
      counts.freeze++;
      busy.add(instance);
      workers.freeze(instance);
      await sleep(sessionTimeoutMs + 2_500);
      workers.thaw(instance);
      busy.delete(instance);
    };
    const joinAndLeave = async (stage: StageName): Promise<void> => {
      counts.join++;
      await workers.start(stage, `${stage}-c`);
      await sleep(6_000);
      counts.leave++;
      expect(await workers.terminate(`${stage}-c`)).toBe(0);
    };
    // Every stage is killed and frozen at least once, in an order that the seed decides; then on
    // until all is issued.
    const faults = shuffled(
      [
        ...topics.flatMap((stage) =>
          slots.filter((slot) => slot.stage === stage).map((slot, i) => () => (i ? freeze(slot) : kill(slot))),
        ),
        ...shuffled(topics, random)
          .slice(0, 2)
          .map((stage) => () => joinAndLeave(stage)),
      ],
      random,
    );
    const under: Promise<void>[] = [];
    const log: string[] = [];
    const begin = (fault: () => Promise<void>): void =>
      void under.push(fault().catch((error: unknown) => void log.push(String(error))));
    for (const fault of faults) {
      begin(fault);
      await sleep(1_000 + random() * 2_000);
    }
    while (issuing) {
      const idle = slots.filter(({ instance }) => !busy.has(instance));
      const slot = idle[Math.floor(random() * idle.length)];
      if (slot !== undefined) begin(() => (random() < 0.7 ? kill(slot) : freeze(slot)));
      await sleep(2_000 + random() * 2_000);
    }
    await Promise.all(under);
    await issued;
    const answeredAt = Date.now();
    await oracle.allAnswered(60_000).catch(
      () => undefined, // the counts below say more
    );
    await oracle.drained(60_000);
    const lagAt = Date.now();

    const issuedIds = oracle.issued;
    const topic = session.topic;
    const responses = await oracle.recordsOf(topic("responses"));
    const decisions = await oracle.recordsOf(topic("decisions"));
    const [rows] = await session.clickhouse.query<Record<string, number>>(
      `SELECT (SELECT count() FROM requests FINAL) AS requests, (SELECT uniqExact(request_id) FROM requests) AS request_ids,
              (SELECT count() FROM decisions FINAL) AS decisions, (SELECT uniqExact(request_id) FROM decisions) AS decision_ids,
              (SELECT count() FROM responses FINAL) AS responses, (SELECT uniqExact(request_id) FROM responses) AS response_ids,
              (SELECT countIf(status != 'ok') FROM responses FINAL) AS unanswered,
              (SELECT countIf(arm = '${arms[0]}') FROM responses FINAL) AS queued, (SELECT countIf(arm = '${arms[1]}') FROM responses FINAL) AS inline,
              (SELECT count() FROM example_uses FINAL) AS uses, (SELECT uniqExact(request_id, example_id) FROM example_uses) AS use_ids,
              (SELECT sum(length(example_ids)) FROM responses FINAL) AS shown, (SELECT count() FROM dead_letters FINAL) AS letters`,
    );
    const { looks, backwards } = oracle.offsets();
    console.log(
      JSON.stringify({
        seed: String(seed),
        requests: issuedIds.length,
        ...counts,
        seconds: (Date.now() - began) / 1000,
        drainSeconds: (lagAt - answeredAt) / 1000,
        looks,
        rows,
        log,
      }),
    );

    expect(log).toEqual([]);
    expect(notOnce(issuedIds, responses)).toEqual({ lost: [], twice: [] });
    expect(notOnce(issuedIds, decisions)).toEqual({ lost: [], twice: [] });
    const n = issuedIds.length;
    expect(rows).toMatchObject({
      requests: n,
      request_ids: n,
      decisions: n,
      decision_ids: n,
      responses: n,
      response_ids: n,
      unanswered: 0,
      letters: 0,
      queued: Math.ceil(n / 2),
      inline: Math.floor(n / 2),
    });
    expect(Number(rows?.uses)).toBeGreaterThan(0);
    expect(rows?.use_ids).toBe(rows?.uses);
    expect(rows?.shown).toBe(rows?.uses);
    expect(backwards).toEqual([]);
    expect(looks).toBeGreaterThan(10);
  },
);

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const left = [...values];
  return values.flatMap(() => left.splice(Math.floor(random() * left.length), 1));
}
