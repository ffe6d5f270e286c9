// The response cache in the running system: hits and required misses, requests under way, bad
// feedback, a restart; and two processes of plan that are killed with -9 while repeats come: every
// request is answered once.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { openSession } from "../../pipelines/session.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { createLog } from "../../runtime/log.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { createOracle, notOnce } from "../support/oracle.ts";
import { eventually, requestOf, startSystem, testConfig, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { createWorkers } from "../support/workers.ts";

const stages = ["plan", "generate", "record", "learn"] as const;

describe("one process", () => {
  let system: TestSystem;
  let upstream: Upstream;
  let again: RunningStages | undefined;

  beforeAll(async () => {
    upstream = await startUpstream("model");
    const { baseUrl } = upstream;
    const arm = { type: "openai", baseUrl, stream: false, retries: 0, prices: { prompt: 1_000, completion: 2_000 } };
    system = await startSystem(
      {
        cache: { enabled: true, domainTtlHours: { "acme/short": 1 / 3_600, "acme/never": 0 } },
        learn: { everyMs: 300 },
        record: { batchMs: 100 },
        routing: { breaker: { minimum: 100 } },
        arms: [
          { ...arm, name: "queued", model: "m", dispatch: "queued" },
          { ...arm, name: "inline", model: "m", dispatch: "inline" },
        ],
      },
      { stages },
    );
  });
  afterAll(async () => {
    await again?.stop();
    await system.stop();
    upstream.close();
  });

  const on = (arm: string, more: Partial<Request> = {}): Partial<Request> => ({
    tenant: "acme",
    allow: { arms: [arm], maxCost: null, deadlineMs: 100_000, costWeight: null },
    ...more,
  });
  const timesAsked = (question: string): number => upstream.asked.filter((one) => one === question).length;
  const answers = (id: string): readonly Response[] => system.responses.get(id) ?? [];
  const until = (what: string, wanted: () => boolean): Promise<boolean> =>
    eventually(what, () => Promise.resolve(wanted() ? true : undefined), 30_000);

  test.each(["queued", "inline"])(
    "a repeat of what an arm that is %s answered costs nothing, and says so",
    async (arm) => {
      const question = `what is kept of ${arm}?`;
      const first = await system.ask(question, on(arm));
      expect(first).toMatchObject({ status: "ok", source: "generated", savedCost: 0 });
      expect(first.cost).toBeGreaterThan(0);
      const second = await system.ask(question, on(arm, { metadata: { who: "another" } }));
      expect(second).toMatchObject({
        text: first.text,
        source: "cache",
        arm,
        cost: 0,
        savedCost: first.cost,
        attempt: 0,
      });
      expect(timesAsked(question)).toBe(1);
      const [row] = await system.eventually("its rows", async () => {
        const rows = await system.session.clickhouse.query<Record<string, unknown>>(
          `SELECT decision.source AS source, decision.probability AS probability, decision.degraded AS degraded, hit.saved_cost AS saved
         FROM decisions AS decision INNER JOIN cache_hits AS hit USING (request_id) WHERE request_id = {id:String}`,
          { id: second.requestId },
        );
        return rows.length > 0 ? rows : undefined;
      });
      expect(row).toEqual({ source: "cache", probability: 1, degraded: [], saved: first.cost });
    },
  );

  test("nothing crosses tenants, domains or parameters, and nothing is given that may not be", async () => {
    const question = "may it be given?";
    await system.ask(question, on("queued"));
    const params = { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] };
    const privacy = { cache: true, share: true, fresh: false };
    const others: Partial<Request>[] = [
      on("queued", { tenant: "other" }),
      on("queued", { domain: "legal" }),
      on("inline"),
      on("queued", { params: { ...params, maxTokens: 5 } }),
      on("queued", { params: { ...params, temperature: 0.5 } }),
      on("queued", { params: { ...params, seed: 7 } }),
      on("queued", { privacy: { ...privacy, cache: false } }),
      on("queued", { privacy: { ...privacy, share: false } }),
      on("queued", { privacy: { ...privacy, fresh: true } }),
      on("queued", { domain: "never" }),
      on("queued", { domain: "never" }),
      on("queued", { metadata: { "link-policy": "naive" } }),
    ];
    for (const other of others) expect(await system.ask(question, other)).toMatchObject({ source: "generated" });
    expect(timesAsked(question)).toBe(1 + others.length);
    expect(await system.ask(question, on("queued"))).toMatchObject({ source: "cache" });
  });

  test("an answer that expired, or holds personal data, is not given", async () => {
    const short = on("queued", { domain: "short" });
    expect(await system.ask("how long?", short)).toMatchObject({ source: "generated" });
    await sleep(1_100);
    expect(await system.ask("how long?", short)).toMatchObject({ source: "generated" });
    const question = "who is jane.smith@mailbox.com?";
    expect(await system.ask(question, on("queued"))).toMatchObject({ text: `model: ${question}` });
    expect(await system.ask(question, on("queued"))).toMatchObject({ source: "generated", text: `model: ${question}` });
  });

  test("the same request under way is answered by one call, and holds no slot", async () => {
    const question = "slow?";
    upstream.behave("hold");
    const ids = Array.from({ length: 40 }, (_, i) => `slow-${i}`);
    await system.produce(ids.map((id) => requestOf(question, { id, ...on("queued") })));
    await until("the call", () => timesAsked(question) === 1);
    upstream.behave("healthy");
    expect(await system.ask("quick?", on("queued"))).toMatchObject({ status: "ok" });
    expect(ids.flatMap(answers)).toEqual([]);
    upstream.release("healthy");
    await until("all answers", () => ids.every((id) => answers(id).length === 1));
    expect(timesAsked(question)).toBe(1);
    const sources = ids.map((id) => answers(id)[0]?.source);
    expect(sources.filter((source) => source === "generated")).toHaveLength(1);
    expect(sources.filter((source) => source === "cache")).toHaveLength(39);
  });

  test("followers of a request that failed are released one by one", async () => {
    const question = "failing?";
    upstream.behave("hold");
    const ids = Array.from({ length: 6 }, (_, i) => `failing-${i}`);
    await system.produce(ids.map((id) => requestOf(question, { id, ...on("queued") })));
    for (const call of [1, 2, 3]) {
      await until(`call ${call}`, () => timesAsked(question) === call);
      upstream.release(call < 3 ? 500 : "healthy");
    }
    upstream.behave("healthy");
    await until("all answers", () => ids.every((id) => answers(id).length === 1));
    expect(timesAsked(question)).toBe(3);
    const how = ids.map((id) => `${answers(id)[0]?.status} ${answers(id)[0]?.source}`).sort();
    expect(how).toEqual([...Array(2).fill("failed none"), ...Array(3).fill("ok cache"), "ok generated"]);
  });

  test("bad feedback on a repeat takes the answer away", async () => {
    const question = "any good?";
    await system.ask(question, on("queued"));
    const hit = await system.ask(question, on("queued"));
    expect(hit.source).toBe("cache");
    const { kafka, codec, topic } = system.session;
    const producer = kafka.plainProducer();
    const feedback = plainFeedback({
      ...{ id: "f1", requestId: hit.requestId, tenant: "acme", kind: "thumbs", value: -1, createdAt: Date.now() },
    });
    await producer.send([{ topic: topic("feedback"), key: hit.requestId, value: codec.encode("feedback", feedback) }]);
    await producer.close();
    await system.eventually("another answer", async () => {
      const { source } = await system.ask(question, on("queued"));
      return source === "generated" ? true : undefined;
    });
    expect(timesAsked(question)).toBe(2);
    // A hit is no reward: the router has learned nothing from this one.
    const rows = await system.session.clickhouse.query("SELECT * FROM arm_hours FINAL WHERE rewards > 0");
    expect(rows).toEqual([]);
  });

  test("what was kept is there after a restart", async () => {
    const question = "still there?";
    await system.ask(question, on("queued"));
    await system.stages.stop();
    again = await startStages(system.session, { stages: ["plan", "generate", "record"] });
    expect(await system.ask(question, on("queued"))).toMatchObject({ source: "cache" });
    expect(timesAsked(question)).toBe(1);
  });
});

test(
  "two processes of plan, kill -9 among repeats: every request is answered and decided once",
  { timeout: 240_000 },
  async () => {
    const random = splitmix64(BigInt(process.env.PRECEDENT_SEED ?? 11));
    const folder = await mkdtemp(join(tmpdir(), "precedent-cache-"));
    const questions = Array.from({ length: 40 }, (_, i) => `question number ${i}`);
    const file = join(folder, "log.jsonl");
    await writeFile(
      file,
      questions.map((request) => JSON.stringify({ request, response: `re: ${request}` })).join("\n"),
    );
    const config = testConfig(
      {
        cache: { enabled: true },
        limits: { drainMs: 5_000, deadlineMs: 600_000 },
        record: { batchMs: 100 },
        log: { level: "warn" },
        arms: [{ name: "small", type: "recorded", file, latencyMs: 100, latencySpreadMs: 600, concurrency: 256 }],
      },
      folder,
    );
    const session = await openSession(config, { log: createLog({ level: "silent" }), clientId: "oracle" });
    const workers = createWorkers(config, folder);
    const rest = await startStages(session, { stages: ["generate", "record"] });
    const questionOf = (i: number): string => questions[Math.floor(i / 3) % questions.length]!;
    // The oracle itself asks for fresh answers.
    const more = () => ({ privacy: { cache: true, share: true, fresh: false } });
    const oracle = await createOracle({ session, arms: ["small"], prefix: "r", questionOf, more });
    try {
      const plans = ["plan-a", "plan-b"];
      await Promise.all(plans.map((instance) => workers.start("plan", instance)));
      let issuing = true;
      const issued = oracle.issue(480, 40).finally(() => (issuing = false));
      for (let kills = 0; issuing && kills < 4; kills++) {
        await sleep(500 + random() * 2_000);
        const instance = plans[Math.floor(random() * plans.length)]!;
        await workers.kill(instance);
        await workers.start("plan", instance);
      }
      await issued;
      await oracle.allAnswered(60_000);
      await oracle.drained(60_000);
      const { topic } = session;
      const responses = await oracle.recordsOf(topic("responses"));
      const decisions = await oracle.recordsOf(topic("decisions"));
      expect(notOnce(oracle.issued, responses)).toEqual({ lost: [], twice: [] });
      expect(notOnce(oracle.issued, decisions)).toEqual({ lost: [], twice: [] });
      const rows = await session.clickhouse.query<{ source: string; n: number | string; wrong: number | string }>(
        `SELECT response.source AS source, count() AS n, countIf(response.text != concat('re: ', request.messages.content[1])) AS wrong
       FROM (SELECT request_id, source, text FROM responses FINAL) AS response
         INNER JOIN (SELECT request_id, messages FROM requests FINAL) AS request USING (request_id)
       GROUP BY source`,
      );
      const of = (source: string): number => Number(rows.find((row) => row.source === source)?.n ?? 0);
      expect(rows.map(({ wrong }) => Number(wrong)).filter((wrong) => wrong > 0)).toEqual([]);
      expect(of("cache") + of("generated")).toBe(oracle.issued.length);
      expect(of("cache")).toBeGreaterThan(oracle.issued.length / 3);
      console.log(`of ${oracle.issued.length} requests ${of("cache")} were answered from the cache`);
    } finally {
      await workers.stop();
      await oracle.stop();
      await rest.stop();
      await session.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
