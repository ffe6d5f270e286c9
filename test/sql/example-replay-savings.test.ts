// What an example replay saved, on a real ClickHouse: uses of the old and the new example with
// their rewards, and the cut-off that follows. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { priorShare, savingHours } from "../../algorithms/routing/example-replay-cut-off.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { readExampleReplayCosts, readSavingCurve } from "../../operators/example-replay/savings.ts";
import type { ExampleReplay } from "../../schemas/types.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { hourMs } from "../support/learning.ts";

let database: MigratedDatabase;
let clickhouse: ClickHouse;
let offset = 0;
const now = Date.now();
const ago = (hours: number): number => now - hours * hourMs;

beforeAll(async () => {
  database = await startDatabase("example_replay_savings_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
beforeEach(async () => {
  for (const table of ["example_replays", "example_uses", "responses", "rewards"])
    await clickhouse.command(`TRUNCATE TABLE ${table}`);
});

const place = (timestamp: number) => ({ topic: "t", partition: 0, offset: offset++, timestamp });

async function replayed(
  ...replays: (Partial<ExampleReplay> & { exampleId: string; createdAt: number })[]
): Promise<void> {
  const rows = replays.flatMap((replay) => {
    const record: ExampleReplay = {
      ...{ runId: "run", tenant: "default", newExampleId: null, attempt: 1, oldQuality: 0.5, newQuality: 1 },
      ...{ tokens: 100, cost: 0.1, outcome: "kept", gain: 0.1, arm: "large", samples: 2, relativeCost: 3 },
      ...replay,
    };
    return rowsOf["example-replays"](record, place(record.createdAt)).flatMap(({ rows: made }) => made);
  });
  await clickhouse.insert("example_replays", rows);
}

interface Use {
  example: string;
  at: number;
  /** Absent: no feedback, and the router's prediction of 0.5 counts. */
  reward?: number;
  cost?: number;
  status?: string;
}
async function used(...uses: Use[]): Promise<void> {
  const rows = uses.map((use) => ({ ...use, id: `r${offset++}` }));
  const common = { tenant: "default", topic: "t", kafka_partition: 0 };
  await clickhouse.insert(
    "example_uses",
    rows.map(({ id, example, at, cost = 1 }, i) => ({
      ...common,
      ...{ example_id: example, request_id: id, domain: "default/default", arm: "a", model: "m", position: 1 },
      ...{ similarity: 0.9, helpfulness: 0.6, tokens: 5, explored: false, arm_cost: cost, arm_mean: 0.5 },
      ...{ created_at: at, kafka_offset: i },
    })),
  );
  await clickhouse.insert(
    "responses",
    rows.map(({ id, at, status = "ok" }, i) => ({
      ...common,
      ...{ request_id: id, attempt: 1, status, text: "t", source: "generated", prompt_tokens: 150 },
      ...{ completion_tokens: 50, created_at: at, kafka_offset: i },
    })),
  );
  await clickhouse.insert(
    "rewards",
    rows.flatMap(({ id, at, reward }) =>
      reward === undefined
        ? []
        : [
            {
              request_id: id,
              tenant: "default",
              reward,
              weight: 1,
              counted: 1,
              received: 1,
              newest_at: at,
              version: 1,
            },
          ],
    ),
  );
}
const several = (count: number, use: Use): Use[] =>
  Array.from({ length: count }, (_, i) => ({ ...use, at: use.at + i * 1_000 }));

interface Saved {
  example: string;
  before: number;
  after: number;
  saved: number | null;
  hours: number;
}
const savings = () =>
  clickhouse.query<Saved>(
    "SELECT example_id AS example, uses_before AS before, uses_after AS after, saved, hours FROM example_replay_savings ORDER BY example",
  );

it("compares uses of the old example before with those of the new one since, within two weeks of both", async () => {
  await replayed({ exampleId: "old", newExampleId: "new", outcome: "replaced", createdAt: ago(48) });
  await used(
    // 0.6 of 1 was missing at an arm of cost 1; 0.5 without a rating, at one of 0.2.
    ...several(3, { example: "old", at: ago(50), reward: 0.4 }),
    { example: "old", at: ago(60), cost: 0.2 },
    // Too long ago, after the replacement, no answer, another example: none counts.
    { example: "old", at: ago(48 + savingHours + 1), reward: 0 },
    { example: "old", at: ago(47), reward: 0 },
    { example: "old", at: ago(51), reward: 0, status: "failed" },
    { example: "other", at: ago(40), reward: 0 },
    ...several(10, { example: "new", at: ago(30), reward: 0.9 }),
    { example: "new", at: ago(49), reward: 0 },
  );
  const [row] = await savings();
  expect(row).toMatchObject({ example: "old", before: 4, after: 10 });
  // (3 x 0.6 + 0.1) / 4 a use before, 0.1 since: ten uses.
  expect(row?.saved).toBeCloseTo(10 * (1.9 / 4 - 0.1), 9);
  expect(row?.hours).toBeCloseTo(48, 1);
});

it("saves nothing where nothing was replaced, counts until the new one is replaced, and knows what it can't know", async () => {
  await replayed(
    { exampleId: "kept", createdAt: ago(40) },
    { exampleId: "a", newExampleId: "b", outcome: "replaced", createdAt: ago(100) },
    { exampleId: "b", newExampleId: "c", outcome: "replaced", createdAt: ago(60), attempt: 2 },
    { exampleId: "unused", newExampleId: "d", outcome: "replaced", createdAt: ago(50) },
    { exampleId: "long", newExampleId: "e", outcome: "replaced", createdAt: ago(3 * savingHours) },
    { exampleId: "unknown", outcome: "kept", gain: null, createdAt: ago(40) },
  );
  await used(
    { example: "kept", at: ago(41), reward: 0 },
    { example: "a", at: ago(101), reward: 0 },
    { example: "b", at: ago(90), reward: 0.5 },
    { example: "b", at: ago(59), reward: 1 },
    { example: "c", at: ago(30), reward: 1 },
    { example: "d", at: ago(30), reward: 1 },
    { example: "long", at: ago(3 * savingHours + 1), reward: 0 },
    { example: "e", at: ago(2 * savingHours + 1), reward: 1 },
    { example: "e", at: ago(2 * savingHours - 1), reward: 1 },
  );
  const rows = Object.fromEntries((await savings()).map(({ example, ...row }) => [example, row]));
  expect(rows).toMatchObject({
    kept: { saved: 0 },
    a: { before: 1, after: 1, saved: 0.5 },
    b: { before: 1, after: 1, saved: 0.5 },
    unused: { before: 0, saved: null },
    long: { after: 1, saved: 1 },
  });
  expect(rows.a?.hours).toBeCloseTo(40, 1);
  expect(rows.long?.hours).toBeCloseTo(savingHours, 1);
  expect(rows).not.toHaveProperty("unknown");
});

it("gives the cut-off: the prior's at first, then by what replays of that gain saved", async () => {
  const cost = 2;
  const prior = cost / (priorShare * savingHours);
  expect((await readSavingCurve(clickhouse)).cutOff(cost)).toBeCloseTo(prior, 9);
  // Twenty replays with gains of 0.01 to 0.2 a use an hour; from 0.11 on the better answers save.
  const examples = Array.from({ length: 20 }, (_, i) => ({ i, gain: (i + 1) / 100, works: i >= 10 }));
  await replayed(
    ...examples.map(({ i, gain, works }) => ({
      ...{ exampleId: `old${i}`, gain, createdAt: ago(savingHours) },
      ...(works ? { newExampleId: `new${i}`, outcome: "replaced" } : {}),
    })),
    // A failed call and one of an hour ago say nothing yet.
    { exampleId: "failed", outcome: "failed", gain: 5, createdAt: ago(100) },
    { exampleId: "young", outcome: "kept", gain: 5, createdAt: ago(1) },
  );
  await used(
    ...examples.flatMap(({ i, works }) => [
      { example: `old${i}`, at: ago(savingHours + 2), reward: 0 },
      ...(works ? several(4, { example: `new${i}`, at: ago(10), reward: 1 }) : []),
    ]),
  );
  const curve = await readSavingCurve(clickhouse);
  expect(curve).toMatchObject({ from: "past replays", replays: 20 });
  expect(curve.expected(0.05)).toBe(0);
  expect(curve.expected(0.2)).toBeCloseTo(4, 1);
  const gain = curve.cutOff(cost);
  expect(gain).toBeGreaterThan(0.055);
  expect(gain).toBeLessThan(0.16);
  expect(curve.cutOff(4.5)).toBe(Infinity);
});

it("takes off what examples do better by themselves: those that were tried and not replaced show it", async () => {
  const names = Array.from({ length: 25 }, (_, i) => i);
  await replayed(
    ...names.map((i) => ({
      ...{ exampleId: `old${i}`, newExampleId: `new${i}`, outcome: "replaced", gain: 1, createdAt: ago(savingHours) },
    })),
    ...names.map((i) => ({ exampleId: `same${i}`, gain: 1, createdAt: ago(savingHours) })),
  );
  await used(
    // All were chosen after an answer of quality 0; half of that was bad luck.
    ...names.flatMap((i) => [
      { example: `old${i}`, at: ago(savingHours + 2), reward: 0 },
      { example: `same${i}`, at: ago(savingHours + 2), reward: 0 },
      ...several(4, { example: `new${i}`, at: ago(10), reward: 0.8 }),
    ]),
  );
  // The others were not used since, so all of it counts. Half of those tried were replaced.
  expect((await readSavingCurve(clickhouse)).expected(1)).toBeCloseTo((4 * (1 - 0.2)) / 2, 6);
  await used(
    ...names.flatMap((i) => several(4, { example: `same${i}`, at: ago(10), reward: 0.5 })),
    // From before its two weeks.
    { example: "same0", at: ago(2 * savingHours + 2), reward: 1 },
  );
  expect((await readSavingCurve(clickhouse)).expected(1)).toBeCloseTo((4 * (0.5 - 0.2)) / 2, 6);
  // Luck that turned for the worse adds nothing.
  await used(...names.flatMap((i) => several(4, { example: `same${i}`, at: ago(8), reward: 0, cost: 3 })));
  expect((await readSavingCurve(clickhouse)).expected(1)).toBeCloseTo((4 * (1 - 0.2)) / 2, 6);
});

it("knows what a replay costs in average answers of an arm of cost 1", async () => {
  const costs = new Map([
    ["small", 0.1],
    ["large", 1],
  ]);
  const of = await readExampleReplayCosts(clickhouse, costs);
  const example = { request: "q".repeat(300), response: "a".repeat(100) };
  // Nothing recorded: 1,000 tokens an answer.
  expect(of.expected(example, "large", 3)).toBeCloseTo(0.3);
  await used({ example: "e", at: ago(2) });
  await replayed(...["a", "b", "c", "d", "e"].map((exampleId) => ({ exampleId, createdAt: ago(2) })));
  const known = await readExampleReplayCosts(clickhouse, costs);
  // Five replays of two samples cost 3 each.
  expect(known.expected(example, "large", 4)).toBeCloseTo(6);
  expect(known.expected(example, "small", 4)).toBeCloseTo((4 * 100 * 0.1) / 200);
  expect(known.of({ tokens: 500, judgeTokens: 300 }, "small", "large")).toBeCloseTo((200 * 0.1 + 300) / 200);
  expect(known.of({ tokens: 500, judgeTokens: 300 }, "large", "reference")).toBeCloseTo(1);
});
