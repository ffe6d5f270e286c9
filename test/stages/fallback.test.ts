// Fallback on the real stack: where the chosen arm fails by its own fault, another one that could
// have been chosen answers, once, within the same request. The decision stays as it was logged; the
// response says whose place it took. In all four pairs of dispatch, and with the process that
// hands the work over killed at seeded moments.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { StageName } from "../../pipelines/up.ts";
import { createAggregate } from "../../operators/aggregate/aggregate.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Request } from "../../schemas/types.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

let folder: string;
let first: Upstream;
let second: Upstream;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-fallback-"));
  await writeFile(join(folder, "log.jsonl"), JSON.stringify({ request: "hello", response: "third: hello" }));
  first = await startUpstream("first");
  second = await startUpstream("second");
});
afterAll(async () => {
  first.close();
  second.close();
  await rm(folder, { recursive: true, force: true });
});

const openai = (name: string, { baseUrl }: Upstream, cost: number, dispatch: string, model = name) => ({
  ...{ name, type: "openai", baseUrl, model, stream: false, retries: 0, cost, dispatch, concurrency: 64 },
});
const configured = (failing: readonly ReturnType<typeof openai>[]) => ({
  // Breakers are tested apart; here none opens.
  routing: { breaker: { minimum: 100 } },
  arms: [...failing, { name: "third", type: "recorded", file: join(folder, "log.jsonl"), cost: 1, dispatch: "queued" }],
});
/** As costs decide alone the arms are chosen in their order. */
const cheapestOf = (arms: string[]): Partial<Request> => ({
  allow: { arms, maxCost: null, deadlineMs: null, costWeight: 1_000 },
});
const rowOf = (system: TestSystem, id: string) =>
  system.eventually(`the rows of ${id}`, async () => {
    const [row] = await system.session.clickhouse.query<Record<string, unknown>>(
      `SELECT decision.arm AS decided, decision.probability AS probability, response.arm AS arm, response.failed_arms.arm AS failed
       FROM (SELECT * FROM decisions FINAL) AS decision
       INNER JOIN (SELECT * FROM responses FINAL) AS response USING (request_id, tenant) WHERE request_id = {id:String}`,
      { id },
    );
    return row;
  });
const count = async (system: TestSystem, table: string, prefix: string): Promise<number> => {
  const [row] = await system.session.clickhouse.query<{ n: number | string }>(
    `SELECT count() AS n FROM ${table} FINAL WHERE startsWith(request_id, {prefix:String})`,
    { prefix },
  );
  return Number(row?.n);
};

const dispatches = ["queued", "inline"];
let ofPairs: TestSystem | undefined;
afterAll(() => ofPairs?.stop());

describe.each([
  ["queued", "queued"],
  ["inline", "inline"],
  ["inline", "queued"],
  ["queued", "inline"],
])("an arm that is %s fails, the next one is %s", (ofFirst, ofSecond) => {
  const [one, other] = [`first-${ofFirst}`, `second-${ofSecond}`];
  /** The pair and the third arm, of all that the one system has. */
  const cheapest = (arms = [one, other, "third"]) => cheapestOf(arms);
  let system: TestSystem;
  beforeAll(async () => {
    const arms = dispatches.flatMap((dispatch) => [
      openai(`first-${dispatch}`, first, 0, dispatch, "first"),
      openai(`second-${dispatch}`, second, 0.1, dispatch, "second"),
    ]);
    system = ofPairs ??= await startSystem(configured(arms), { stages: ["plan", "generate", "record"] });
  });

  test("the other one answers; decision and response say so", async () => {
    first.behave(500);
    second.behave("healthy");
    const answer = await system.ask("hello", cheapest());
    expect(answer).toMatchObject({
      ...{ status: "ok", text: "second: hello", arm: other, model: "second", attempt: 2, source: "generated" },
      ...{ failedArms: [{ arm: one, code: "endpoint_unavailable", attempts: 1 }], degraded: ["fallback"] },
    });
    const row = await rowOf(system, answer.requestId);
    expect(row).toMatchObject({ decided: one, arm: other, failed: [one] });
    expect(Number(row["probability"])).toBeGreaterThan(0.99);
    expect(system.responses.get(answer.requestId)).toHaveLength(1);
    expect(await system.session.metrics.metrics()).toContain(
      `precedent_fallbacks_total{from="${one}",to="${other}",code="endpoint_unavailable"} 1\n`,
    );
  });

  test("never an arm that the request does not allow", async () => {
    first.behave(500);
    const before = second.asked.length;
    expect(await system.ask("hello", cheapest([one]))).toMatchObject({
      ...{ status: "failed", arm: one, failedArms: [], error: { code: "endpoint_unavailable" } },
    });
    expect(await system.ask("hello", cheapest([one, "third"]))).toMatchObject({ status: "ok", arm: "third" });
    expect(second.asked).toHaveLength(before);
  });

  test("not for the fault of a request; and one arm takes over, no more", async () => {
    first.behave(400);
    const before = second.asked.length;
    expect(await system.ask("hello", cheapest())).toMatchObject({
      ...{ status: "failed", arm: one, error: { code: "request_rejected" } },
    });
    expect(second.asked).toHaveLength(before);
    first.behave(500);
    second.behave(503);
    const answer = await system.ask("hello", cheapest());
    expect(answer).toMatchObject({
      ...{ status: "failed", arm: other, attempt: 2, error: { code: "endpoint_unavailable" } },
      ...{ failedArms: [{ arm: one }], degraded: ["fallback"] },
    });
    second.behave("healthy");
  });

  test.runIf(ofFirst === ofSecond)("a reward of what another arm answered is credited to none", async () => {
    const { clickhouse, codec, kafka, topic } = system.session;
    const aggregate = createAggregate({
      ...{ clickhouse, featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT },
      topics: { feedback: topic("feedback"), decisions: topic("decisions"), responses: topic("responses") },
    });
    first.behave("healthy");
    const own = await system.ask("hello", cheapest());
    first.behave(500);
    const taken = await system.ask("hello", cheapest());
    expect([own.arm, taken.arm]).toEqual([one, other]);
    const producer = kafka.plainProducer();
    const feedback = [own, taken].map(({ requestId }) =>
      plainFeedback({ id: uuidv7(), requestId, kind: "reward", value: 1, createdAt: Date.now() }),
    );
    await producer.send(
      feedback.map((record) => ({
        topic: topic("feedback"),
        key: record.requestId,
        value: codec.encode("feedback", record),
      })),
    );
    await producer.close();
    for (const { requestId } of [own, taken]) await rowOf(system, requestId);
    await system.eventually("both rewards", async () => {
      await aggregate.advance();
      const [row] = await clickhouse.query<{ n: number | string }>(
        "SELECT count() AS n FROM rewards FINAL WHERE weight > 0 AND request_id IN {ids:Array(String)}",
        { ids: [own.requestId, taken.requestId] },
      );
      return Number(row?.n) === 2 ? true : undefined;
    });
    await aggregate.advance();
    const credited = await clickhouse.query<{ arm: string; n: number | string }>(
      "SELECT arm, sum(rewards) AS n FROM arm_hours FINAL WHERE arm IN {arms:Array(String)} GROUP BY arm HAVING n > 0",
      { arms: [one, other] },
    );
    expect(credited.map(({ arm, n }) => [arm, Number(n)])).toEqual([[one, 1]]);
  });
});

describe.each<[StageName, string]>([
  ["generate", "queued"],
  ["plan", "inline"],
])("%s is killed while arms that are %s fail", (stage, dispatch) => {
  let system: TestSystem;
  let workers: Workers;
  const others = (["plan", "generate"] as const).filter((one) => one !== stage);
  beforeAll(async () => {
    const arms = [openai("first", first, 0, dispatch), openai("second", second, 0.1, "queued")];
    system = await startSystem(configured(arms), { stages: [...others, "record"] });
    workers = createWorkers({ ...system.config, log: { level: "warn" } }, system.config.stack.folder);
    await workers.start(stage, "killed");
  });
  afterAll(async () => {
    await workers.stop();
    await system.stop();
  });

  test("each request has one decision and one response, of the arm that took over", async () => {
    first.behave(500);
    second.behave("healthy");
    const random = splitmix64(17n);
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const more = Array.from({ length: 24 }, (_, i) => `kill-${round}-${i}`);
      ids.push(...more);
      for (let at = 0; at < more.length; at += 8)
        await system.produce(
          more.slice(at, at + 8).map((id) => requestOf("hello", { id, ...cheapestOf(["first", "second"]) })),
        );
      const asked = first.asked.length + Math.ceil(random() * 12);
      await system
        .eventually("calls", () => Promise.resolve(first.asked.length >= asked ? true : undefined), 20_000)
        .catch(() => undefined);
      await sleep(random() * 100);
      await workers.kill("killed");
      await workers.start(stage, "killed");
    }
    await system.eventually(
      "all answers",
      () => Promise.resolve(ids.every((id) => system.responses.has(id)) ? true : undefined),
      90_000,
    );
    for (const id of ids)
      expect(system.responses.get(id)).toMatchObject([{ status: "ok", arm: "second", failedArms: [{ arm: "first" }] }]);
    await system.eventually("the rows", async () =>
      (await count(system, "decisions", "kill-")) === ids.length &&
      (await count(system, "responses", "kill-")) === ids.length
        ? true
        : undefined,
    );
    const [row] = await system.session.clickhouse.query<{ n: number | string }>(
      "SELECT countIf(arm != 'first') AS n FROM decisions FINAL",
    );
    expect(Number(row?.n)).toBe(0);
  });
});
