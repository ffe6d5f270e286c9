// The circuit breaker of an arm on the real stack: its endpoint fails, the breaker opens, requests
// go to the other arm with the probability that this leaves, probes are let through, and it closes
// when they are answered. Between processes, too: generate is one of its own, and plan hears of its
// breaker by the topic. Verified by what is answered and logged, never by the clock.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Health } from "../../gateway/page/data/types/health.ts";
import type { Request, Response } from "../../schemas/types.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const minimum = 5;
let folder: string;
let upstream: Upstream;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-breaker-"));
  await writeFile(join(folder, "log.jsonl"), JSON.stringify({ request: "hello", response: "steady: hello" }));
  upstream = await startUpstream("flaky");
});
afterAll(async () => {
  upstream.close();
  await rm(folder, { recursive: true, force: true });
});

const configured = (dispatch: string) => ({
  // flaky is far more likely to be chosen, and no learning changes that.
  routing: { costWeight: 2, breaker: { minimum, openMs: 1_000 }, ...noFallback },
  arms: [
    {
      name: "flaky",
      type: "openai",
      baseUrl: upstream.baseUrl,
      model: "m",
      stream: false,
      retries: 0,
      cost: 0,
      dispatch,
    },
    { name: "steady", type: "recorded", file: join(folder, "log.jsonl"), cost: 1, dispatch },
  ],
});
const noFallback = {};
const only = (...arms: string[]): Partial<Request> => ({
  allow: { arms, maxCost: null, deadlineMs: null, costWeight: null },
});
const states = async ({ session }: TestSystem, id: string): Promise<Record<string, unknown> | undefined> => {
  const [row] = await session.clickhouse.query<Record<string, unknown>>(
    `SELECT arm, probability, breakers, degraded, arms.arm AS among FROM decisions FINAL WHERE request_id = {id:String}`,
    { id },
  );
  return row;
};

async function opensProbesAndCloses(system: TestSystem): Promise<void> {
  upstream.behave(500);
  for (let i = 0; i < minimum; i++)
    expect(await system.ask("hello", only("flaky"))).toMatchObject({ status: "failed", arm: "flaky" });
  const instead = await system.eventually("an answer of the other arm", async () => {
    const answer = await system.ask("hello", only("flaky", "steady"));
    return (await decisionOf(system, answer)).breakers["flaky"] === "open" ? answer : undefined;
  });
  expect(instead).toMatchObject({ status: "ok", arm: "steady" });
  expect(await states(system, instead.requestId)).toMatchObject({
    ...{ arm: "steady", probability: 1, breakers: { flaky: "open" }, degraded: ["breaker"], among: ["steady"] },
  });
  // Who allows no other arm is still served by it, if it can.
  expect(await system.ask("hello", only("flaky"))).toMatchObject({ status: "failed", arm: "flaky" });

  // Probes fail, and it opens again.
  await system.eventually("a probe", async () => {
    const { breakers, arm } = await decisionOf(system, await system.ask("hello", only("flaky", "steady")));
    return breakers["flaky"] === "half-open" && arm === "flaky" ? true : undefined;
  });
  upstream.behave("healthy");
  await system.eventually("the breaker to close", async () => {
    const answer = await system.ask("hello", only("flaky", "steady"));
    const { breakers } = await decisionOf(system, answer);
    return answer.arm === "flaky" && !("flaky" in breakers) ? true : undefined;
  });
}
async function decisionOf(
  system: TestSystem,
  { requestId }: Response,
): Promise<{ breakers: Record<string, string>; arm: string }> {
  return system.eventually("the decision", async () => {
    const row = await states(system, requestId);
    return row === undefined
      ? undefined
      : { breakers: row["breakers"] as Record<string, string>, arm: String(row["arm"]) };
  });
}

describe.each(["queued", "inline"])("in one process, %s", (dispatch) => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem(configured(dispatch), { stages: ["plan", "generate", "record"] });
  });
  afterAll(() => system.stop());

  test("it opens, probes and closes", async () => {
    await opensProbesAndCloses(system);
    const metrics = await system.session.metrics.metrics();
    expect(metrics).toContain('precedent_arm_breaker{arm="flaky"} 0');
    for (const to of ["open", "half-open", "closed"])
      expect(
        Number(metrics.split(`precedent_arm_breaker_transitions_total{arm="flaky",to="${to}"} `)[1]?.split("\n")[0]),
      ).toBeGreaterThan(0);
  });

  test("one tenant's failures do not open it for two others that are answered", async () => {
    upstream.behave("healthy");
    for (const tenant of ["b", "c"]) await system.ask("hello", { tenant, ...only("flaky") });
    upstream.behave(500);
    for (let i = 0; i < 2 * minimum; i++) await system.ask("hello", { tenant: "hostile", ...only("flaky") });
    upstream.behave("healthy");
    const answer = await system.ask("hello", { tenant: "b", ...only("flaky", "steady") });
    expect((await decisionOf(system, answer)).breakers).toEqual({});
  });
});

describe("with generate as a process of its own", () => {
  let system: TestSystem;
  let workers: Workers;
  beforeAll(async () => {
    system = await startSystem(configured("queued"), { stages: ["plan", "record"] });
    workers = createWorkers({ ...system.config, log: { level: "warn" } }, system.config.stack.folder);
    await workers.start("generate", "generate-a");
  });
  afterAll(async () => {
    await workers.stop();
    await system.stop();
  });

  test("plan hears of its breaker", async () => {
    await opensProbesAndCloses(system);
  });
});

describe("an arm with three replicas, one slow, one killed, one whose metrics stop", () => {
  let system: TestSystem;
  let replicas: Upstream[];
  beforeAll(async () => {
    replicas = await Promise.all(
      ["slow", "killed", "silent"].map((name) => startUpstream(name, (asked) => `re: ${asked}`)),
    );
    for (const replica of replicas) replica.report("vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n");
    const arms = ["queued", "inline"].map((dispatch) => ({
      ...{ name: dispatch, type: "openai", model: "m", stream: false, dispatch, concurrency: 64 },
      ...{ endpoints: replicas.map(({ baseUrl }) => baseUrl), metricsUrl: "/metrics" },
    }));
    system = await startSystem({ arms, routing: noFallback }, { stages: ["plan", "generate", "record", "gateway"] });
  });
  afterAll(async () => {
    await system.stop();
    for (const replica of replicas) replica.close();
  });
  const requests = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      ...only(i % 2 === 0 ? "queued" : "inline"),
      id: `replicas-${from + i}`,
      messages: [{ role: "user" as const, content: `question ${from + i}` }],
    }));

  test("nothing is lost, and each request is answered once", async () => {
    const [slow, killed, silent] = replicas as [Upstream, Upstream, Upstream];
    await system.produce(requests(0, 30));
    for (const { id } of requests(0, 30)) expect(await system.response(id)).toMatchObject({ status: "ok" });
    for (const { asked } of replicas) expect(asked.length).toBeGreaterThan(0);
    const { origin } = new URL(system.stages.baseUrl ?? "");
    const shown = await system.eventually("the page shows them with their engines' load", async () => {
      const { replicas: all } = (await (await fetch(`${origin}/page/api/health`)).json()) as Health;
      return all.filter(({ running, waiting }) => running === 0 && waiting === 0).length === 6 ? all : undefined;
    });
    const names = replicas.map(({ baseUrl }) => baseUrl).toSorted();
    expect(shown.map(({ arm, name, without }) => [arm, name, without])).toEqual(
      ["inline", "queued"].flatMap((arm) => names.map((name) => [arm, name, 0])),
    );

    slow.behave("hold");
    killed.behave("hold");
    silent.report(null);
    const before = killed.asked.length;
    await system.produce(requests(30, 60));
    await system.eventually("calls of the one that is killed", () =>
      Promise.resolve(killed.asked.length > before || undefined),
    );
    // With its calls under way.
    killed.close();
    const metrics = await system.eventually("the others to be called in its place", async () => {
      const answered = requests(30, 60).filter(({ id }) => system.responses.has(id)).length;
      return answered > 20 ? system.session.metrics.metrics() : undefined;
    });
    expect(metrics).toContain(`precedent_replica_load{arm="inline",replica="${silent.baseUrl}"}`);
    slow.behave("healthy");
    slow.release("healthy");
    for (const { id, messages } of requests(30, 60))
      expect(await system.response(id)).toMatchObject({ status: "ok", text: `re: ${messages[0]!.content}` });
    const stored = await system.eventually("all decisions", async () => {
      const [row] = await system.session.clickhouse.query<{ n: number; failed: number }>(
        "SELECT count() AS n, countIf(notEmpty(failed_arms)) AS failed FROM responses FINAL",
      );
      return row?.n === 90 ? row : undefined;
    });
    expect(stored.failed).toBe(0);
    for (const { id } of requests(0, 90)) expect(system.responses.get(id)).toHaveLength(1);
  });
});
