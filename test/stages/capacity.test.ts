// precedent plan-capacity on a real ClickHouse, whose rows come from a system that the test makes
// up: service times, workers and queues are known, so what is planned is compared with the truth.
// The test's queues are simulated in another way than the code's.
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { normal, splitmix64 } from "../../algorithms/numeric/random.ts";
import { runCommand } from "../../cli/run.testing.ts";
import type { Config } from "../../config/schema.ts";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import type { Response } from "../../schemas/types.ts";
import { decisionOf } from "../support/learning.ts";
import { testConfig } from "../support/system.ts";

const count = 4_000;
const end = Date.now() - 60_000;
const arms = {
  small: { places: 2, constant: 5, computed: 0.2, reused: 0, completion: 4 },
  large: { places: 4, constant: 15, computed: 0.5, reused: 0.05, completion: 10 },
} as const;
type Name = keyof typeof arms;

interface Asked {
  at: number;
  arm: Name;
  computed: number;
  reused: number;
  completion: number;
  firstMs: number;
  serviceMs: number;
  hopMs: number;
  worker: number;
}
interface Answered extends Asked {
  began: number;
}
const planMs = 3;

/** The same requests for every placement; only who answers differs. */
function asked(armOf: (chance: number) => Name, workers: Record<Name, number>): Asked[] {
  const random = splitmix64(77);
  let at = 0;
  return Array.from({ length: count }, () => {
    at += -95 * Math.log(1 - random());
    const arm = armOf(random());
    const { constant, ...ms } = arms[arm];
    const size = { computed: Math.ceil(50 + 350 * random()), completion: Math.ceil(10 + 50 * random()) };
    const linked = random() < 0.5 ? Math.ceil(600 * random()) : 0;
    const reused = arm === "large" ? linked : 0;
    const noise = (): number => Math.exp(0.2 * normal(random));
    const firstMs = (constant + ms.computed * size.computed + ms.reused * reused) * noise();
    const serviceMs = firstMs + ms.completion * size.completion * noise();
    const worker = Math.floor(random() * workers[arm]);
    return { at, arm, ...size, reused, firstMs, serviceMs, hopMs: 4 + 6 * random(), worker };
  });
}

/** Millisecond events: who is ready first begins when a place of its worker is free. */
function served(requests: readonly Asked[]): Answered[] {
  const waiting = new Map<string, { ready: number; one: Asked }[]>();
  for (const one of requests) {
    const key = `${one.arm}/${one.worker}`;
    waiting.set(key, [...(waiting.get(key) ?? []), { ready: one.at + planMs + one.hopMs, one }]);
  }
  return [...waiting.values()]
    .flatMap((queue) => {
      const open: number[] = [];
      return queue
        .sort((a, b) => a.ready - b.ready)
        .map(({ ready, one }) => {
          const places = arms[one.arm].places;
          let began = ready;
          for (;;) {
            for (let i = open.length - 1; i >= 0; i--) if (open[i]! <= began) open.splice(i, 1);
            if (open.length < places) break;
            began = Math.min(...open);
          }
          open.push(began + one.serviceMs);
          return { ...one, began };
        });
    })
    .sort((a, b) => a.at - b.at);
}

const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(q * (values.length - 1))]!;
const totals = (answers: readonly Answered[]): number[] =>
  answers.map(({ at, began, serviceMs }) => began + serviceMs - at);

const logged = (): Answered[] => served(asked((chance) => (chance < 0.7 ? "small" : "large"), { small: 1, large: 1 }));

let folder = "";
let config: Config;
let clickhouse: ClickHouse;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-capacity-"));
  const configured = Object.entries(arms).map(([name, { places }]) => ({
    ...{ name, type: "openai", baseUrl: "http://127.0.0.1:1/v1", model: `${name}-model`, concurrency: places },
  }));
  config = testConfig({ arms: configured }, folder);
  const { url = "", username, password, database } = config.clickhouse;
  const admin = createClickHouse({ url, username, password });
  await migrate(admin, { database, ttlDays: 0 });
  await admin.close();
  clickhouse = createClickHouse({ url, username, password, database });
  // JSON is YAML.
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...config, instance: undefined }));

  const answers = logged();
  const shift = end - answers.at(-1)!.at;
  const place = (topic: string, offset: number, timestamp: number) => ({ topic, partition: 0, offset, timestamp });
  const responses = answers.map((one, i): Response => {
    const { at, began, firstMs, serviceMs, arm } = one;
    const finished = Math.round(shift + began + serviceMs);
    return {
      ...testingRecords.responses,
      ...{
        requestId: `q${i}`,
        tenant: "default",
        attempt: 1,
        status: "ok",
        arm,
        source: "generated",
        duplicate: false,
      },
      ...{ failedArms: [], error: null, createdAt: finished },
      usage: {
        ...{ prompt: one.computed + one.reused, linked: one.reused, recomputed: 0, prefilled: one.computed },
        completion: one.completion,
      },
      timings: {
        ...{ plan: planMs, queue: began - at - planMs, firstToken: began + firstMs - at },
        total: began + serviceMs - at,
      },
    };
  });
  // Not calls of an arm: a kept answer, a failure.
  responses.push(
    { ...responses[0]!, requestId: "kept", source: "cache" },
    { ...responses[0]!, requestId: "failed", status: "failed", source: "none" },
  );
  await clickhouse.insert(
    "responses",
    responses.flatMap((one, i) =>
      rowsOf
        .responses(one, place("t.responses", i, one.createdAt))
        .flatMap(({ table, rows }) => (table === "responses" ? rows : [])),
    ),
  );
  const decisions = answers.map(({ arm, at }, i) =>
    decisionOf(`q${i}`, arm, [], {
      ...{
        featureVersion: FEATURE_VERSION,
        createdAt: Math.round(shift + at),
        arm,
        probability: arm === "small" ? 0.7 : 0.3,
      },
      arms: (Object.keys(arms) as Name[]).map((name) => ({
        ...{
          arm: name,
          model: `${name}-model`,
          cost: name === "small" ? 0.1 : 1,
          mean: 0.5,
          deviation: 0.1,
          sampled: 0.5,
        },
        ...{
          context: Array.from({ length: FEATURE_COUNT }, () => 0.5),
          bias: 0,
          saturation: 0,
          examples: [],
          trial: null,
        },
        probability: name === "small" ? 0.7 : 0.3,
      })),
    }),
  );
  const rows = decisions.flatMap((one, i) => rowsOf.decisions(one, place("t.decisions", i, one.createdAt)));
  await clickhouse.insert(
    "decisions",
    rows.flatMap(({ table, rows: own }) => (table === "decisions" ? own : [])),
  );
});
afterAll(async () => {
  await clickhouse.command(`DROP DATABASE IF EXISTS ${config.clickhouse.database}`);
  await clickhouse.close();
  await rm(folder, { recursive: true, force: true });
});

interface Quantiles {
  p50: number;
  p90: number;
  p99: number;
}
interface Plan {
  queue_ms: Quantiles;
  total_ms: Quantiles;
  attainment: number;
  goodput_per_s: number | null;
  arms: { arm: string; share: number; workers: number; utilisation: number }[];
}
interface Compared {
  logged: number;
  simulated: number;
  error: number;
}
interface Said {
  window: { requests: number };
  left_out: Record<string, number>;
  arms: Record<string, number>[];
  check: { arm: string | null; queue_ms: Record<string, Compared>; total_ms: Record<string, Compared> }[];
  traffic: { source: string; requests: number; requests_per_s: number };
  current: Plan;
  asked: Plan | null;
  warnings: string[];
}
async function plan(...argv: string[]): Promise<Said> {
  const said = await runCommand(folder, ["plan-capacity", "--json", ...argv]);
  if (said.code !== 0) throw new Error(said.note);
  return JSON.parse(said.out) as Said;
}
const near = (seen: number, expected: number, off: number, what = ""): void =>
  expect(Math.abs(seen / expected - 1), `${what} ${seen} beside ${expected}`).toBeLessThan(off);

function expectPlan({ total_ms }: Plan, truth: readonly Answered[]): void {
  const times = totals(truth);
  near(total_ms.p50, quantile(times, 0.5), 0.08, "p50");
  near(total_ms.p90, quantile(times, 0.9), 0.12, "p90");
  near(total_ms.p99, quantile(times, 0.99), 0.25, "p99");
}

describe("precedent plan-capacity", () => {
  it("finds service times, workers and queues of the log", async () => {
    const said = await plan();
    expect(said.window.requests).toBe(count);
    expect(said.left_out).toMatchObject({ cached: 1, failed: 1, unplannable: 0 });
    for (const [name, { constant, ...truth }] of Object.entries(arms)) {
      const found = said.arms.find(({ arm }) => String(arm) === name)!;
      expect(found).toMatchObject({ workers: 1, places: truth.places, most_at_once: truth.places });
      near(found.prefill_ms_per_token!, truth.computed, 0.05, name);
      near(found.decode_ms_per_token!, truth.completion, 0.05, name);
      if (truth.reused > 0) near(found.linked_ms_per_token!, truth.reused, 0.1, name);
      expect(found.constant_ms! < 2 * constant + 5).toBe(true);
    }
    expect(said.check.map(({ arm }) => arm).sort()).toEqual([null, "large", "small"].sort());
    for (const { arm, queue_ms, total_ms } of said.check)
      for (const one of [queue_ms.p50!, queue_ms.p90!, total_ms.p50!, total_ms.p90!]) {
        const off = Math.abs(one.simulated - one.logged);
        expect(off < 0.2 * one.logged || off < 3, `${arm}: ${JSON.stringify(one)}`).toBe(true);
        expect(one.error).toBeCloseTo(one.simulated / one.logged - 1, 9);
      }
    expectPlan(said.current, logged());
    expect(said.warnings).toEqual([]);
  });

  it("foretells what more workers and another policy come to", async () => {
    const split = (chance: number): Name => (chance < 0.7 ? "small" : "large");
    const workers = await plan("--workers", "small=2");
    expectPlan(workers.asked!, served(asked(split, { small: 2, large: 1 })));
    expect(workers.asked!.total_ms.p90).toBeLessThan(workers.current.total_ms.p90);
    const large = await plan("--policy", "large", "--workers", "large=3");
    const truth = served(asked(() => "large", { small: 1, large: 3 }));
    expectPlan(large.asked!, truth);
    expect(large.asked!.arms.find(({ arm }) => arm === "large")).toMatchObject({ share: 1, workers: 3 });
    // The workers that there were don't keep up with it.
    expect(large.current.arms.find(({ arm }) => arm === "large")!.utilisation).toBeGreaterThan(0.95);
  });

  it("gives the goodput: its rate meets the objectives in the made-up system, a larger one does not", async () => {
    const said = await plan("--total", "1200ms", "--ttft", "700ms", "--workers", "small=2,large=2");
    const split = (chance: number): Name => (chance < 0.7 ? "small" : "large");
    for (const [one, workers] of [
      [said.current, { small: 1, large: 1 }],
      [said.asked!, { small: 2, large: 2 }],
    ] as const) {
      const met = (rate: number): number => {
        const requests = asked(split, workers).map((request) => ({
          ...request,
          at: (request.at * (1_000 / 95)) / rate,
        }));
        const answers = served(requests);
        return (
          answers.filter(
            ({ at, began, firstMs, serviceMs }) => began + firstMs - at <= 700 && began + serviceMs - at <= 1_200,
          ).length / count
        );
      };
      expect(met(0.85 * one.goodput_per_s!)).toBeGreaterThan(0.9);
      expect(met(1.15 * one.goodput_per_s!)).toBeLessThan(0.9);
    }
    expect(said.asked!.goodput_per_s! > 1.5 * said.current.goodput_per_s!).toBe(true);
    const impossible = await plan("--ttft", "1ms");
    expect(impossible.current.goodput_per_s).toBe(0);
    expect(impossible.warnings.join()).toContain("no rate meets the objectives");
    expect((await plan()).current.goodput_per_s).toBeNull();
  });

  it("takes arrivals and lengths from a trace", async () => {
    const lines = Array.from({ length: 400 }, (_, i) => `${i / 4},${100 + (i % 200)},30`);
    await writeFile(join(folder, "burst.csv"), ["Timestamp,Request tokens,Response tokens", ...lines].join("\n"));
    const said = await plan("--arrivals", "burst.csv", "--pattern", "trace", "--total", "2s", "--traffic", "2");
    expect(said.traffic).toMatchObject({ source: "burst.csv", requests: 400 });
    near(said.traffic.requests_per_s, 8, 0.01);
    expect(said.current.arms.find(({ arm }) => arm === "small")!.share).toBeCloseTo(0.7, 1);
    const large = await plan("--arrivals", "burst.csv", "--policy", "large");
    expect(large.current.arms.find(({ arm }) => arm === "large")!.share).toBe(1);
    // 15 + 0.5 x 200 + 10 x 30 ms, and the time before the call without queueing.
    near(large.current.total_ms.p50, 415 + 10, 0.2);
  });

  const azure = join(
    process.env.PRECEDENT_DATA ?? join(import.meta.dirname, "../../../shared/data"),
    "azure-llm-conv-2023.csv",
  );
  it.skipIf(!existsSync(azure))("takes Azure's trace as it is (skipped where ../shared/data is absent)", async () => {
    const said = await plan("--arrivals", azure, "--workers", "small=8,large=8", "--total", "30s");
    expect(said.traffic.requests).toBe(19_366);
    near(said.traffic.requests_per_s, 19_366 / 3_500, 0.1);
    expect(said.asked!.goodput_per_s! > said.current.goodput_per_s!).toBe(true);
  });

  it("says what is missing", async () => {
    const fails = async (...argv: string[]): Promise<string> => {
      const said = await runCommand(folder, ["plan-capacity", ...argv]);
      expect(said.code).not.toBe(0);
      return said.note;
    };
    expect(await fails("--until", "2020-01-02", "--since", "2020-01-01")).toContain(
      "no arm answered between 2020-01-01",
    );
    expect(await fails("--since", "2020-01-02", "--until", "2020-01-01")).toContain("is not before --until");
    expect(await fails("--workers", "huge=2")).toContain("nothing is known of arm huge: ");
    expect(await fails("--workers", "large")).toContain("ARM=N");
    expect(await fails("--arrivals", "none.csv")).toContain("none.csv: there is no such file");
    expect(await fails("--policy", "unknown")).toContain("unknown is no policy");
    // Fewer calls than a fit needs.
    expect(await fails("--requests", "15")).toContain("clean ones are needed");
    expect(await fails("--policy", "arm:third")).toContain("no decision of the window says what third");
  });

  it("prints tables", async () => {
    const said = await runCommand(folder, ["plan-capacity", "--workers", "large=2", "--total", "1s"]);
    expect(said).toMatchObject({ code: 0 });
    for (const part of [
      "service times, fitted",
      "beside the same requests on paper",
      "goodput/s",
      "utilisation",
      "asked",
    ])
      expect(said.out).toContain(part);
  });
});
