// What bytes for kept answers, examples and chunk caches are worth, by the statements of learn on a
// ClickHouse with rows whose worth is known by hand. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createMemoryWorth, type TokenMargin } from "../../operators/aggregate/memory.ts";
import { time } from "../../operators/decode/values.ts";
import { startFacade, type Facade } from "../support/clickhouse.ts";

const database = "precedent_worth";
const hourMs = 3_600_000;
const now = Date.now();

let facade: Facade;
let clickhouse: ClickHouse;
beforeAll(async () => {
  facade = await startFacade();
  const server = { url: facade.url, username: "default", password: facade.token };
  const admin = createClickHouse(server);
  await migrate(admin, { database, ttlDays: 90 });
  await admin.close();
  clickhouse = createClickHouse({ ...server, database });
});
afterAll(async () => {
  await clickhouse.close();
  await facade.remove();
});
const tables = ["requests", "decisions", "responses", "rewards", "example_uses", "examples"];
beforeEach(async () => {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`);
});

const at = (hoursAgo: number): string => time(now - hoursAgo * hourMs);

let asked = 0;
interface Asked {
  key: string;
  hoursAgo: number;
  arm?: string;
  example?: string;
}
/** An answer of 1,000 bytes, by an arm, with an example where one is named. */
async function ask({ key, hoursAgo, arm = "large", example }: Asked): Promise<void> {
  const common = { request_id: `r${asked++}`, tenant: "acme", created_at: at(hoursAgo) };
  await clickhouse.insert("requests", [{ ...common, messages: [{ role: "user", content: "q" }] }]);
  await clickhouse.insert("decisions", [{ ...common, domain: "acme/all", arm, source: "generated", cache_key: key }]);
  await clickhouse.insert("responses", [{ ...common, status: "ok", text: "a".repeat(1_000), arm }]);
  if (example === undefined) return;
  const use = { ...common, domain: "acme/all", arm, arm_cost: 0.1, arm_mean: 0.9, example_id: example };
  await clickhouse.insert("example_uses", [use]);
}
const hold = (id: string, bytes: number): Promise<void> =>
  clickhouse.insert("examples", [
    {
      ...{ example_id: id, tenant: "acme", domain: "acme/all", source_arm: "large", quality: 0, bytes },
      ...{ created_at: at(20), kafka_timestamp: at(20) },
    },
  ]);

const worth = (
  split: { responses: number; examples: number; caches?: Record<string, number> },
  step: number,
  caches: ReadonlyMap<string, TokenMargin> = new Map(),
) =>
  createMemoryWorth({
    ...{ clickhouse, offloadQuality: 0.6, windowMs: 4 * hourMs, clock: () => now },
    costs: () => new Map(Object.entries({ small: 0.1, large: 1 })),
    caches: () => caches,
  })({ caches: {}, ...split }, step);

/** One kept answer, its request of a byte and what it weighs besides. */
const kept = 1_024 + 1_000 + 1;

it("answers are ranked by what came before the cut, and worth what came after it", async () => {
  // Known as the best, but not requested any more.
  for (const hoursAgo of [7, 6, 5]) await ask({ key: "was", hoursAgo });
  // Known a little; asked three times since.
  for (const hoursAgo of [6, 5, 3, 2, 1]) await ask({ key: "is", hoursAgo });
  // Not known at the cut.
  for (const hoursAgo of [3, 2, 1]) await ask({ key: "new", hoursAgo });

  const one = await worth({ responses: kept, examples: 0 }, kept);
  expect(one.responses).toEqual({ gain: 3, loss: 0 });
  const two = await worth({ responses: 2 * kept, examples: 0 }, kept);
  expect(two.responses).toEqual({ gain: 0, loss: 3 });
});

it("an example is worth the offloads after the cut; a full pool gains what it would lose", async () => {
  await hold("good", 1_000);
  await hold("idle", 1_000);
  await ask({ key: "a", hoursAgo: 6, arm: "small", example: "good" });
  for (const hoursAgo of [2, 1]) await ask({ key: `a${hoursAgo}`, hoursAgo, arm: "small", example: "good" });

  const idle = await worth({ responses: 0, examples: 2_000 }, 1_000);
  expect(idle.examples).toEqual({ gain: 0, loss: 0 });
  const both = await worth({ responses: 0, examples: 2_000 }, 2_000);
  expect(both.examples.loss).toBeCloseTo(2 * 0.9, 6);
  expect(both.examples.gain).toBe(both.examples.loss);
});

it("a step that has not been filled yet costs what is held at its edge", async () => {
  await hold("good", 1_000);
  await ask({ key: "a", hoursAgo: 6, arm: "small", example: "good" });
  await ask({ key: "b", hoursAgo: 1, arm: "small", example: "good" });

  const filling = await worth({ responses: 0, examples: 1_500 }, 500);
  expect(filling.examples).toEqual({ gain: 0, loss: 0.9 });
  const empty = await worth({ responses: 0, examples: 10_000 }, 500);
  expect(empty.examples).toEqual({ gain: 0, loss: 0 });
});

it("answers that could have been kept free the bytes of examples, as often as they repeat", async () => {
  await hold("good", 1_000);
  await ask({ key: "same", hoursAgo: 6, arm: "small", example: "good" });
  // Two of four repeat a key.
  for (const hoursAgo of [3, 2]) await ask({ key: "same", hoursAgo, arm: "small", example: "good" });
  for (const hoursAgo of [1.5, 1]) await ask({ key: `own ${hoursAgo}`, hoursAgo, arm: "small", example: "good" });

  const { responses, examples } = await worth({ responses: 0, examples: 1_000 }, kept);
  expect(examples.loss).toBeCloseTo(4 * 0.9, 6);
  // Two more answers by the small arm, and half of what the example saves.
  expect(responses.gain).toBeCloseTo(2 * 0.1 + 0.5 * 4 * 0.9, 6);
});

it("a token of a chunk cache is worth its share of the time, and so of the cost, of an answer", async () => {
  const answer = (arm: string, more: object) => ({
    ...{ request_id: `r${asked++}`, tenant: "acme", created_at: at(1), status: "ok", source: "generated", arm },
    ...{ plan_ms: 10, queue_ms: 90, first_token_ms: 300, total_ms: 1_100 },
    ...{ prefilled_tokens: 60, recomputed_tokens: 40, linked_tokens: 120, ...more },
  });
  await clickhouse.insert("responses", [
    answer("small", {}),
    // 600 ms of prefill for 300 tokens: with the other, 2 ms each; 3,000 ms in all.
    answer("small", { first_token_ms: 700, total_ms: 3_100, prefilled_tokens: 260, linked_tokens: 40 }),
    // None of these says anything.
    answer("small", { first_token_ms: null, total_ms: 9_000 }),
    answer("small", { source: "cache", total_ms: 9_000 }),
    answer("small", { status: "failed", total_ms: 9_000 }),
    answer("small", { created_at: at(25), total_ms: 9_000 }),
    // Never linked anything: 200 ms for 100 tokens of a second.
    answer("large", { prefilled_tokens: 100, recomputed_tokens: 0, linked_tokens: 0 }),
  ]);
  const counted = new Map([
    ["small", { gainTokens: 1_000, lossTokens: 500 }],
    ["large", { gainTokens: 10, lossTokens: 0 }],
    ["other", { gainTokens: 1, lossTokens: 1 }],
  ]);
  const split = { responses: 0, examples: 0, caches: { small: 1, large: 1, other: 1 } };
  const { caches } = await worth(split, 1, counted);
  // A token takes a thousandth of the 2,000 ms of an answer, which costs .1; two of three that a
  // cache is there of are linked.
  expect(caches["small"]!.gain).toBeCloseTo((1_000 * 0.1 * (2 / 3)) / 1_000, 9);
  expect(caches["small"]!.loss).toBeCloseTo((500 * 0.1 * (2 / 3)) / 1_000, 9);
  expect(caches["large"]).toEqual({ gain: expect.closeTo((10 * 2) / 1_000, 9), loss: 0 });
  // No answer says what its tokens take.
  expect(Object.keys(caches).sort()).toEqual(["large", "small"]);
  // No process has reported counts: nothing is known.
  expect((await worth(split, 1)).caches).toEqual({});
  expect((await worth({ responses: 0, examples: 0 }, 1, counted)).caches).toEqual({});
});
