// Spend limits of API keys, with OpenAI's client for Node, over the recorded costs of real answers:
// used up, they refuse until the day or month is over, at every gateway, also one that was started
// since, and for every key that follows by rotation. Copies and repeats cost nothing twice.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startOf, windowAt } from "../../algorithms/queueing/spend-limit.ts";
import { erasedRequest } from "../../algorithms/privacy/erasure.ts";
import { startGateway, type RunningGateway } from "../../pipelines/gateway/start.ts";
import { stageNames } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { createSpendLimits, type SpendLimited } from "../../gateway/keys/spend-limits.ts";
import { createSpending } from "../../gateway/keys/spending.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import { readAccountCosts } from "../../gateway/keys/account-costs.ts";
import { readRequests } from "../../gateway/page/data/requests.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

let folder: string;
let model: TestModel;
let system: TestSystem;
let second: RunningGateway | undefined;
/** What one answer costs. */
let cost: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-spend-limits-"));
  model = await startModel();
  const prices = { prompt: 1_000, cachedPrompt: 125, cacheWrite: 1_250, completion: 1_000, reasoning: 500 };
  const arms = [{ name: "small", type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, prices }];
  system = await startSystem(
    { arms, limits: { drainMs: 1_000 } },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(system.config));
  const { response } = await ask(await create()).withResponse();
  cost = Number(response.headers.get("x-precedent-cost"));
  expect(cost).toBeGreaterThan(0);
}, 240_000);
afterAll(async () => {
  await second?.stop();
  await system.stop();
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

async function keys(...argv: string[]): Promise<string> {
  const { code, out, note } = await runCommand(folder, ["keys", ...argv]);
  expect(code, note).toBe(0);
  return out.trim();
}
const idOf = (key: string): string => key.split(".")[0] ?? "";
const clientOf = (apiKey: string, baseURL = system.stages.baseUrl ?? "", maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries });
const until = (key: string, status: number): Promise<true> =>
  system.eventually(`status ${status}`, async () => {
    const { status: found } = await fetch(`${system.stages.baseUrl}/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return found === status ? true : undefined;
  });
/** Creates a key of the tenant spend-limits. */
async function create(...argv: string[]): Promise<string> {
  const key = await keys("create", "-t", "spend-limits", ...argv);
  await until(key, 200);
  return key;
}
const ask = (key: string, headers: Record<string, string> = {}, baseURL?: string) =>
  clientOf(key, baseURL).chat.completions.create(
    { model: "small", messages: [{ role: "user", content: "hello" }] },
    { headers },
  );
const refused = { status: 429, code: "insufficient_quota", type: "insufficient_quota" };
/** Waits until the account's recorded cost is that of so many answers. */
async function recorded(account: string, answers: number): Promise<void> {
  await system.eventually(`${answers} recorded answers`, async () => {
    const [row] = await system.session.clickhouse.query<{ sum: number }>(
      "SELECT sum(cost) AS sum FROM account_costs FINAL WHERE account = {account:String}",
      { account },
    );
    return Math.round(Number(row?.sum) / cost) === answers ? true : undefined;
  });
}

test("a spend limit that is used up refuses with OpenAI's code, once, and touches no other key", async () => {
  const key = await create("--spend-limit-per-day", String(1.5 * cost));
  for (let i = 0; i < 2; i++) await ask(key);
  let calls = 0;
  const counting = new OpenAI({
    ...{ baseURL: system.stages.baseUrl ?? "", apiKey: key, maxRetries: 5 },
    fetch: (...given) => {
      calls++;
      return fetch(...given);
    },
  });
  const body = { model: "small", messages: [{ role: "user" as const, content: "hello" }] };
  const error = await counting.chat.completions.create(body).then(
    () => undefined,
    (cause: unknown) => cause as InstanceType<typeof OpenAI.RateLimitError>,
  );
  expect(error).toBeInstanceOf(OpenAI.RateLimitError);
  expect(error).toMatchObject(refused);
  const resets = error?.headers.get("x-precedent-spend-limit-resets") ?? "";
  expect(resets).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
  expect(error?.message).toContain(resets);
  expect(error?.headers.get("x-should-retry")).toBe("false");
  expect(Number(error?.headers.get("retry-after"))).toBeGreaterThan(0);
  await expect(counting.chat.completions.create({ ...body, stream: true })).rejects.toMatchObject(refused);
  expect(calls).toBe(2);
  // What costs nothing is not counted, and keys without that spend limit are served.
  expect((await counting.models.list()).data.length).toBeGreaterThan(0);
  await ask(await create());
});

test("what is under way is held against it: of many at once one is answered, and the others may try again", async () => {
  const key = await create("--spend-limit-per-day", String(1.5 * cost));
  // Not finished before the others were refused.
  const messages = [{ role: "user" as const, content: "held until all were asked" }];
  const held = { model: "small", stream: true as const, messages };
  const all = await Promise.allSettled(Array.from({ length: 8 }, () => clientOf(key).chat.completions.create(held)));
  const refusals = all.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  expect(refusals).toHaveLength(7);
  for (const refusal of refusals) expect(refusal).toMatchObject({ status: 429, code: "spend_limit_held" });
  model.release();
  const [answered] = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  let text = "";
  for await (const { choices } of answered!) text += choices[0]?.delta.content ?? "";
  expect(text).toBe("held until all were asked");
  const client = clientOf(key, undefined, 5);
  const body = { model: "small", messages: [{ role: "user" as const, content: "hello" }] };
  const later = await Promise.allSettled([1, 2].map(() => client.chat.completions.create(body)));
  expect(later.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(later.find(({ status }) => status === "rejected")).toMatchObject({ reason: refused });
});

test("cached, written and reasoning tokens cost the same in answers, spend limits, savings and on the page", async () => {
  const key = await create();
  const openAi = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  const anthropic = {
    input_tokens: 10,
    output_tokens: 20,
    cache_read_input_tokens: 60,
    cache_creation_input_tokens: 30,
  };
  // Millionths, by hand: prompt, cached, written, completion, reasoning.
  const odd: [object, number][] = [
    [openAi, 100 * 1_000 + 20 * 1_000],
    [{ ...openAi, prompt_tokens_details: { cached_tokens: 60 } }, 40 * 1_000 + 60 * 125 + 20 * 1_000],
    [{ ...openAi, prompt_tokens_details: { cached_tokens: 600 } }, 100 * 125 + 20 * 1_000],
    [{ ...openAi, prompt_tokens_details: { cached_tokens: -6 } }, 100 * 1_000 + 20 * 1_000],
    [{ ...openAi, completion_tokens_details: { reasoning_tokens: 15 } }, 100 * 1_000 + 5 * 1_000 + 15 * 500],
    [{ ...openAi, total_tokens: 135, reasoning_tokens: 15 }, 100 * 1_000 + 20 * 1_000 + 15 * 500],
    [anthropic, 10 * 1_000 + 60 * 125 + 30 * 1_250 + 20 * 1_000],
    [
      { prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40, completion_tokens: 20 },
      40 * 1_000 + 60 * 125 + 20 * 1_000,
    ],
  ];
  const answers = [];
  for (const [usage, millionths] of odd) {
    const content = `usage ${JSON.stringify(usage)}`;
    const body = { model: "small", messages: [{ role: "user" as const, content }] };
    const { data, response } = await clientOf(key).chat.completions.create(body).withResponse();
    const charged = Number(response.headers.get("x-precedent-cost"));
    expect(Math.round(charged * 1e6), content).toBe(millionths);
    answers.push({ id: response.headers.get("x-precedent-request-id") ?? "", charged, usage: data.usage });
  }
  expect(answers[1]?.usage?.prompt_tokens_details).toEqual({ cached_tokens: 60 });
  expect(answers[4]?.usage?.completion_tokens_details).toEqual({ reasoning_tokens: 15 });
  expect(answers[6]?.usage).toMatchObject({
    prompt_tokens: 100,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  });
  const total = odd.reduce((sum, [, millionths]) => sum + millionths, 0);
  const ids = answers.map(({ id }) => id);
  const { clickhouse } = system.session;
  const query = <T>(sql: string) => clickhouse.query<T>(sql, { account: idOf(key), ids });
  await system.eventually("all costs in account_costs", async () => {
    const [row] = await query<{ sum: number }>(
      "SELECT sum(cost) AS sum FROM account_costs FINAL WHERE account = {account:String}",
    );
    return Math.round(Number(row?.sum) * 1e6) === total ? true : undefined;
  });
  const saved = await system.eventually("all in savings", async () => {
    const rows = await query<{ id: string; cost: number; most: number }>(
      "SELECT request_id AS id, cost, most_expensive_cost AS most FROM savings WHERE request_id IN {ids:Array(String)}",
    );
    return rows.length === ids.length ? rows : undefined;
  });
  for (const { id, cost: recordedCost, most } of saved)
    expect([recordedCost, most]).toEqual(Array(2).fill(answers.find((one) => one.id === id)?.charged));
  const [until, hour] = [Date.now() + 1, 3_600_000];
  const filter = { search: "usage {", tenant: "spend-limits", from: until - hour, until };
  const { rows: shown } = await readRequests(clickhouse, filter);
  expect(new Map(shown.map(({ id, cost: onPage }) => [id, onPage]))).toEqual(
    new Map(answers.map(({ id, charged }) => [id, charged])),
  );
  const [sums] = await query<object>(
    `SELECT sum(cached_tokens) AS cached, sum(cache_write_tokens) AS written, sum(reasoning_tokens) AS reasoning
     FROM outcomes WHERE request_id IN {ids:Array(String)}`,
  );
  expect(sums).toEqual({ cached: 60 + 100 + 60 + 60, written: 30, reasoning: 30 });
});

test("it can be raised and taken away, and a rotated key has spent what the one before has", async () => {
  const key = await create("--spend-limit-per-month", String(cost / 2));
  await ask(key);
  await expect(ask(key)).rejects.toMatchObject(refused);
  const next = await keys("rotate", idOf(key));
  await until(next, 200);
  await expect(ask(next)).rejects.toMatchObject(refused);
  await keys("update", idOf(next), "--spend-limit-per-month", String(1.5 * cost));
  await system.eventually("the higher spend limit", () => ask(next).then(() => true as const));
  await expect(ask(next)).rejects.toMatchObject(refused);
  await recorded(idOf(key), 2);
  const listed = (await keys("list", "--json")).split("\n").map((line) => JSON.parse(line) as Listed);
  const spent = listed.filter(({ id }) => [idOf(key), idOf(next)].includes(id)).map((one) => one.spent?.month);
  expect(spent.map((one) => Math.round((one ?? 0) / cost))).toEqual([2, 2]);
  await keys("update", idOf(next), "--spend-limit-per-month", "none");
  await system.eventually("no spend limit", () => ask(next).then(() => true as const));
  expect((await runCommand(folder, ["keys", "update", idOf(next)])).code).toBe(2);
  expect((await runCommand(folder, ["keys", "update", idOf(next), "--spend-limit-per-day", "0"])).code).toBe(2);
});
interface Listed {
  id: string;
  spent: { day: number; month: number } | null;
}

test("a copy of an answer and a record that comes again cost nothing twice", async () => {
  const key = await create("--spend-limit-per-day", String(10 * cost));
  const account = idOf(key);
  const headers = { "Idempotency-Key": "once" };
  const { id } = await ask(key, headers);
  expect((await ask(key, headers)).id).toBe(id);
  const requestId = id.replace("chatcmpl-", "");
  const first = system.responses.get(requestId)?.[0];
  expect(first).toMatchObject({ account, duplicate: false });
  await recorded(account, 1);
  const { kafka, codec, topic, clickhouse } = system.session;
  const place = async (): Promise<{ partition: number; offset: number }> => {
    const [row] = await clickhouse.query<{ partition: number; offset: number }>(
      "SELECT kafka_partition AS partition, kafka_offset AS offset FROM account_costs FINAL WHERE account = {account:String} AND hash = {hash:String}",
      { account, hash: erasedRequest("spend-limits", requestId) },
    );
    return { partition: Number(row?.partition), offset: Number(row?.offset) };
  };
  const { partition, offset } = await place();
  const producer = kafka.plainProducer();
  const value = codec.encode("responses", first!);
  await producer.send([{ topic: topic("responses"), key: requestId, value, partition }]);
  await producer.close();
  await system.eventually("the record that came again", async () =>
    (await place()).offset > offset ? true : undefined,
  );
  await recorded(account, 1);
});

test("days and months are counted apart", async () => {
  const [daily, monthly] = [await create("--spend-limit-per-day", "50"), await create("--spend-limit-per-month", "50")];
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  const rows = [daily, monthly].map((key) => ({
    ...{ account: idOf(key), day: yesterday.slice(0, 10), hash: "h", cost: 100 },
    ...{ created_at: yesterday.replace("T", " ").slice(0, -1), topic: "t", kafka_partition: 0, kafka_offset: 1 },
    kafka_origin: "",
  }));
  await system.session.clickhouse.insert("account_costs", rows);
  await ask(daily);
  const isThisMonth = yesterday.slice(0, 7) === new Date().toISOString().slice(0, 7);
  if (isThisMonth) await expect(ask(monthly)).rejects.toMatchObject(refused);
  else await ask(monthly);
});

test("a spend limit is whole again at midnight of UTC, and not a millisecond before, by what record wrote of real answers", async () => {
  const account = idOf(await create().then(async (key) => (await ask(key), key)));
  await recorded(account, 1);
  // On the last day of a month what is left of the day is left of the month.
  const midnight = startOf(windowAt("day", Date.now()).next);
  const month = startOf(windowAt("month", Date.now()).next);
  /** What a gateway says whose clock is there. */
  const heldAt = async (now: number, limits: Partial<SpendLimited>): Promise<unknown> => {
    const spending = createSpending({
      read: (accounts, since) => readAccountCosts(system.session.clickhouse, accounts, since),
      ...{ gateways: () => 1, now: () => now, clock: () => now, log: system.session.log },
    });
    const holdSpending = createSpendLimits({ spending, mostCost: () => 0, mostMs: () => 1, now: () => now });
    const key = { id: account, account: null, spendLimitPerDay: null, spendLimitPerMonth: null, ...limits };
    const request = plainRequest("hello", { id: "r" });
    return holdSpending(key, request).then(
      () => "left",
      ({ code }: { code: string }) => code,
    );
  };
  const [day, all] = [{ spendLimitPerDay: cost }, { spendLimitPerMonth: cost }];
  expect(await heldAt(midnight - 1, { spendLimitPerDay: 1.1 * cost })).toBe("left");
  expect([await heldAt(midnight - 1, day), await heldAt(midnight, day)]).toEqual(["insufficient_quota", "left"]);
  expect([await heldAt(month - 1, all), await heldAt(month, all)]).toEqual(["insufficient_quota", "left"]);
});

test("another gateway knows what was spent at the first, also when it is started afterwards, and the other way round", async () => {
  const before = await create("--spend-limit-per-day", String(0.5 * cost));
  const shared = await create("--spend-limit-per-day", String(3.5 * cost));
  await ask(before);
  await ask(shared);
  await recorded(idOf(before), 1);
  second = await startGateway(system.session, "gateway-b");
  const there = second.baseUrl;
  await system.eventually("the second gateway", async () =>
    (await fetch(new URL("/healthz", there))).ok ? true : undefined,
  );
  await expect(ask(before, {}, there)).rejects.toMatchObject(refused);
  await recorded(idOf(shared), 1);
  for (let i = 0; i < 3; i++) await ask(shared, {}, there);
  await expect(ask(shared, {}, there)).rejects.toMatchObject(refused);
  await system.eventually("the first gateway to know", () =>
    ask(shared).then(
      () => undefined,
      (error: unknown) => {
        expect(error).toMatchObject(refused);
        return true as const;
      },
    ),
  );
});

test("erasing the tenant gives nothing back", async () => {
  const key = await create("--spend-limit-per-day", String(0.5 * cost));
  await ask(key);
  await recorded(idOf(key), 1);
  const { code, note } = await runCommand(folder, ["forget", "--tenant", "spend-limits"]);
  expect(code, note).toBe(0);
  await recorded(idOf(key), 1);
  await expect(ask(key)).rejects.toMatchObject(refused);
});
