// Servers that go away under load, on a stack of the test's own: while ClickHouse or the registry
// is down requests go on being answered, and whatever was down, in the end every request is
// answered and recorded once. Requests alternate between an arm with a generate stage and an inline
// arm, which plan calls itself. npm run soak sends more requests within the same time.
// PRECEDENT_OUTAGE_SECONDS=60 makes ClickHouse's outage a long one.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { stageNames, startStages, type RunningStages } from "../../pipelines/up.ts";
import { startHealthServer } from "../../runtime/metrics/health.ts";
import { createLog } from "../../runtime/log.ts";
import { attachStack, stopStack } from "../../stack/attach.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { createOracle, notOnce, type Oracle } from "../support/oracle.ts";
import { pidOf, serversReady, withoutServer, withServerHung } from "../support/servers.ts";
import { eventually, testConfig } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const outageMs = 1_000 * Number(process.env.PRECEDENT_OUTAGE_SECONDS ?? 10);
const perSecond = process.env.PRECEDENT_FULL_COUNTS === undefined ? 24 : 40;
const stalledMs = 4_000;

let folder: string;
let system: Session;
let outside: Session;
let stages: RunningStages;
let oracle: Oracle;
let workers: Workers;

noBrokerDefects(() => folder);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-outage-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "What time is it?", response: "date" }));
  const stack = await attachStack(folder, { start: true });
  const names = ["small", "inline"];
  const arms = names.map((name) => ({
    ...{ name, type: "recorded", dispatch: name === "inline" ? "inline" : "queued", file },
    ...{ latencySpreadMs: 200, concurrency: 256 },
  }));
  // What is asked here is delivery: on a busy machine nothing may be refused for coming late.
  const limits = { drainMs: 5_000, deadlineMs: 600_000 };
  const config = testConfig({ arms, limits, health: { stalledAfterMs: stalledMs } }, folder, stack);
  const log = createLog({ level: config.log.level });
  system = await openSession(config, { log, start: false });
  stages = await startStages(system);
  // The oracle is independent: it shares no connection with what it watches.
  outside = await openSession(config, { log, clientId: "oracle", start: false });
  oracle = await createOracle({
    ...{ session: outside, arms: names, prefix: "o", questionOf: () => "What time is it?" },
    more: (i) => ({
      allow: { arms: names.slice(i % 2, (i % 2) + 1), maxCost: null, deadlineMs: null, costWeight: null },
    }),
  });
  workers = createWorkers(config, folder);
}, 240_000);
afterAll(async () => {
  await oracle.stop().catch(() => undefined);
  await stages.stop();
  await workers.stop();
  await Promise.all([system.close(), outside.close()]);
  await stopStack(folder);
  await rm(folder, { recursive: true, force: true });
});

/** Waits for so many more answers. */
async function moreAnswers(count: number): Promise<void> {
  const before = oracle.answered();
  await eventually(
    `${count} more answers`,
    () => Promise.resolve(oracle.answered() >= before + count || undefined),
    60_000,
  );
}

/** Every request record has one response record, and every id stands once in every table. */
async function expectAllOnce(): Promise<void> {
  await oracle.allAnswered(60_000).catch(async (error: unknown) => {
    // Who is it that lacks them: the system, or the oracle that listens?
    const { lost } = notOnce(oracle.issued, await oracle.recordsOf(outside.topic("responses")));
    const asked = notOnce(oracle.issued, await oracle.recordsOf(outside.topic("requests")));
    const reported = `${oracle.answered()} of ${oracle.issued.length} heard; ${lost.length} stand in no response, ${asked.lost.length} in no request`;
    const waiting = await oracle.drained(1).catch((still: unknown) => (still as Error).message);
    throw new Error(`${reported}: ${lost.slice(0, 5).join(", ")}; ${waiting ?? "all groups have read everything"}`, {
      cause: error,
    });
  });
  await oracle.drained(60_000);
  const asked = await oracle.recordsOf(outside.topic("requests"));
  expect(new Set(asked.keys())).toEqual(new Set(oracle.issued));
  expect(await oracle.recordsOf(outside.topic("responses"))).toEqual(asked);
  const [rows] = await outside.clickhouse.query<Record<string, number>>(
    `SELECT (SELECT count() FROM requests FINAL) AS requests, (SELECT count() FROM decisions FINAL) AS decisions,
            (SELECT countIf(NOT duplicate) FROM responses FINAL) AS responses,
            (SELECT countIf(arm = 'inline' AND NOT duplicate) FROM responses FINAL) AS inline,
            (SELECT countIf(status != 'ok') FROM responses FINAL) AS unanswered, (SELECT count() FROM dead_letters FINAL) AS letters`,
  );
  const n = oracle.issued.length;
  console.log(
    JSON.stringify({
      test: expect.getState().currentTestName,
      issued: n,
      asked: sum(asked),
      rows,
      looks: oracle.offsets().looks,
    }),
  );
  expect(rows).toEqual({ requests: n, decisions: n, responses: n, inline: n / 2, unanswered: 0, letters: 0 });
  expect(oracle.offsets().backwards).toEqual([]);
}
const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((a, b) => a + b, 0);

test(
  "while ClickHouse is down requests are answered and a process starts, afterwards everything is recorded",
  { timeout: 400_000 },
  async () => {
    const issued = oracle.issue((perSecond * (outageMs + 10_000)) / 1_000, perSecond);
    await moreAnswers(50);
    await withoutServer(folder, "clickhouse", async () => {
      const started = workers.start(["plan", "generate", "gateway"], "started-without");
      await Promise.all([moreAnswers(200), sleep(outageMs), started, issued]);
      await Promise.all([moreAnswers(20), oracle.issue(20, perSecond)]);
    });
    await workers.kill("started-without");
    await expectAllOnce();
  },
);

test("while ClickHouse hangs, too, though partitions change hands", { timeout: 400_000 }, async () => {
  await workers.start("plan", "plan-second");
  const issued = oracle.issue(perSecond * 20, perSecond);
  await withServerHung(folder, "clickhouse", async () => {
    await moreAnswers(200);
    await workers.kill("plan-second");
    const sofar = oracle.issued.length;
    await eventually(
      "the dead process' requests",
      () => Promise.resolve(oracle.answered() >= sofar || undefined),
      90_000,
    );
  });
  await issued;
  await expectAllOnce();
});

test("with the registry down requests go on: what is known is kept", { timeout: 400_000 }, async () => {
  await oracle.issue(20, perSecond);
  await withoutServer(folder, "registry", async () => {
    const all = moreAnswers(100);
    await oracle.issue(100, perSecond);
    await all;
  });
  await expectAllOnce();
});

test("the broker is killed twice under load: nothing is lost, nothing comes twice", { timeout: 400_000 }, async () => {
  const issued = oracle.issue(perSecond * 20, perSecond);
  for (let round = 0; round < 2; round++) {
    await moreAnswers(100);
    process.kill(await pidOf(folder, "kafka"), "SIGKILL");
    await sleep(500);
    await serversReady(folder);
  }
  await issued;
  await expectAllOnce();
});

test(
  "health tells of a broker that is away, with the reason, and is healthy again after",
  { timeout: 400_000 },
  async () => {
    const health = await startHealthServer({
      ...{ host: "127.0.0.1", port: 0, registry: system.metrics, stages: stages.reports, stuck: system.kafka.stuck },
      stalledAfterMs: stalledMs,
    });
    const look = async (): Promise<{ code: number; problems: string[] }> => {
      const answer = await fetch(`${health.url}/healthz`);
      return { code: answer.status, problems: ((await answer.json()) as { problems: string[] }).problems };
    };
    const until = (code: number, withinMs: number) =>
      eventually(
        `health ${code}`,
        async () => {
          const seen = await look();
          if (seen.code !== code) throw new Error(`health is ${seen.code}: ${seen.problems.join("; ")}`);
          return seen;
        },
        withinMs,
      );
    try {
      await until(200, 60_000);
      await withoutServer(folder, "kafka", async () => {
        await until(503, 5 * stalledMs);
        const reported = async (stage: string): Promise<true | undefined> => {
          const reason = new RegExp(`^${stage}: .*no progress for \\d+ s \\(since 20.*broker`);
          return (await look()).problems.some((problem) => reason.test(problem)) || undefined;
        };
        for (const stage of ["plan", "generate.small", "record"])
          await eventually(`the reason of ${stage}`, () => reported(stage), 3 * stalledMs);
      });
      await until(200, 60_000);
      const metrics = await (await fetch(`${health.url}/metrics`)).text();
      expect(metrics).toContain('precedent_healthy{stage="plan"} 1');
    } finally {
      await health.close();
    }
    await oracle.issue(50, perSecond);
    await expectAllOnce();
  },
);

test("processes end when they are asked to, while the broker is away", { timeout: 400_000 }, async () => {
  const late = stageNames.map((stage) => ({ stage, instance: `${stage}-late` }));
  await Promise.all(late.map(({ stage, instance }) => workers.start(stage, instance)));
  await withoutServer(folder, "kafka", async () => {
    await sleep(3_000);
    const codes = await Promise.all(late.map(({ instance }) => workers.terminate(instance, 30_000)));
    expect(codes).toEqual(late.map(() => 0));
  });
  await oracle.issue(50, perSecond);
  await expectAllOnce();
});
