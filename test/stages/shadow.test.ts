// A policy in shadow on a real system: it is taken up while plan runs, its choices stand in
// ClickHouse, what is served does not change, and an ended one stops.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { constantPrior, emptyStatistics, observe, solvePosterior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { runCommand, type CapturedOutput } from "../../cli/run.testing.ts";
import { encodeRouterBody } from "../../state/policies/router.ts";
import type { Response } from "../../schemas/types.ts";
import { eventually, startSystem, type TestSystem } from "../support/system.ts";

let folder: string;
let system: TestSystem;
const question = "How do I list the files of a folder?";
let asked = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-shadow-"));
  const file = join(folder, "answers.jsonl");
  const lines = ["small", "large"].map((arm) => JSON.stringify({ request: question, response: `${arm} ls`, arm }));
  await writeFile(file, lines.join("\n"));
  system = await startSystem(
    {
      arms: [
        { name: "small", type: "recorded", file, cost: 0.1 },
        { name: "large", type: "recorded", file, cost: 1 },
      ],
      kafka: { partitions: 2 },
      record: { batchMs: 50 },
      // The default arm would answer all if routing were degraded by a shadow.
      routing: { defaultArm: "small" },
    },
    { stages: ["plan", "generate", "record"] },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
  // A proposal that is sure of the large arm.
  const arm = (reward: number) => {
    const statistics = emptyStatistics(FEATURE_COUNT);
    for (let i = 0; i < 300; i++)
      observe(
        statistics,
        Array.from({ length: FEATURE_COUNT }, (_, k) => (k === 0 ? 1 : Math.sin(i * k + k))),
        reward,
      );
    return {
      model: "recorded",
      count: 300,
      ...solvePosterior(statistics, constantPrior(FEATURE_COUNT, 0.5, 0.25, 0.1)),
    };
  };
  const body = encodeRouterBody({
    arms: new Map([
      ["small", arm(0)],
      ["large", arm(1)],
    ]),
  });
  await writeFile(join(folder, "proposal.json"), body);
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const policy = (...argv: string[]): Promise<CapturedOutput> => runCommand(folder, ["policy", ...argv]);
interface Row {
  arm: string;
  probability: number;
  degraded: string[];
  shadows: { policy: string; version: number; arm: string; arms: { arm: string; probability: number }[] }[];
}
async function ask(count: number): Promise<{ ids: string[]; responses: Response[] }> {
  const ids = Array.from({ length: count }, () => `s${asked++}`);
  const responses = await Promise.all(ids.map((id) => system.ask(question, { id })));
  return { ids, responses };
}
const decisionsOf = (ids: readonly string[]): Promise<Row[]> =>
  eventually("the decisions are recorded", async () => {
    const rows = await system.session.clickhouse.query<Row>(
      "SELECT arm, probability, degraded, shadows FROM decisions FINAL WHERE request_id IN {ids:Array(String)} ORDER BY request_id",
      { ids },
    );
    return rows.length === ids.length ? rows : undefined;
  });

test("logs its choices, serves none, and stops when ended", async () => {
  const before = await decisionsOf((await ask(20)).ids);
  expect(before.every(({ shadows }) => shadows.length === 0)).toBe(true);
  expect((await policy("shadow", "list")).out).toContain("no policy is held in shadow");

  expect((await policy("shadow", "proposal.json")).out).toContain("is held in shadow as shadow/1, version 1");
  await eventually("plan takes it up", async () => {
    const rows = await decisionsOf((await ask(1)).ids);
    return rows[0]!.shadows.length > 0 ? true : undefined;
  });
  const { ids, responses } = await ask(40);
  const rows = await decisionsOf(ids);
  for (const { shadows, degraded } of rows) {
    expect(degraded).toEqual([]);
    expect(shadows).toMatchObject([{ policy: "shadow/1", version: 1, arm: "large" }]);
    expect(shadows[0]!.arms.find(({ arm }) => arm === "large")!.probability).toBeGreaterThan(0.99);
  }
  // The prior goes on choosing both arms with its own probabilities.
  expect(new Set(responses.map(({ arm }) => arm))).toEqual(new Set(["small", "large"]));
  const chances = (some: readonly Row[]): Map<string, string> =>
    new Map(some.map(({ arm, probability }) => [arm, probability.toFixed(6)]));
  for (const [arm, chance] of chances(rows)) expect(chances(before).get(arm) ?? chance).toBe(chance);
  const [router] = await system.session.clickhouse.query<{ versions: number }>(
    "SELECT count() AS versions FROM policies FINAL WHERE name = 'router'",
  );
  expect(router!.versions).toBe(0);

  const listed = JSON.parse((await policy("shadow", "list", "--json")).out) as {
    shadows: { name: string; decisions: number; agreement: number; problem: string | null }[];
  };
  const [{ share } = { share: 0 }] = await system.session.clickhouse.query<{ share: number }>(
    "SELECT avg(arm = 'large') AS share FROM decisions FINAL WHERE notEmpty(shadows)",
  );
  expect(listed.shadows).toMatchObject([{ name: "shadow/1", problem: null }]);
  expect(listed.shadows[0]!.decisions).toBeGreaterThanOrEqual(40);
  expect(listed.shadows[0]!.agreement).toBeCloseTo(share, 9);
  expect((await policy("shadow", "list")).out).toContain("a file");

  // Bounded, and only router policies.
  expect((await policy("shadow", "proposal.json")).out).toContain("shadow/2");
  expect(await policy("shadow", "proposal.json")).toMatchObject({
    code: 1,
    note: expect.stringContaining("are taken"),
  });
  expect(await policy("shadow", "large")).toMatchObject({ code: 1, note: expect.stringContaining("no router policy") });

  for (const name of ["shadow/1", "2"]) expect(await policy("shadow", "end", name)).toMatchObject({ code: 0 });
  expect(await policy("shadow", "end", "shadow/1")).toMatchObject({ code: 1 });
  await eventually("plan lets go of them", async () => {
    const [row] = await decisionsOf((await ask(1)).ids);
    return row!.shadows.length === 0 ? true : undefined;
  });
  const after = await decisionsOf((await ask(10)).ids);
  expect(after.every(({ shadows }) => shadows.length === 0)).toBe(true);
  await eventually("the end is recorded", async () =>
    (await policy("shadow", "list")).out.includes("no policy is held in shadow") ? true : undefined,
  );
  expect(await policy("compare", "router", "shadow/1")).toMatchObject({ code: 1 });
});
