// The page on the real stack: what the gateway answers it, who may ask, that nothing of what users
// write becomes part of it, and, in headless Chromium, what a person sees and does. Screenshots are
// kept in .precedent/screenshots.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import OpenAI, { toFile } from "openai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import type { ExampleList, WholeExample } from "../../gateway/page/data/types/examples.ts";
import type { Health } from "../../gateway/page/data/types/health.ts";
import type { Overview } from "../../gateway/page/data/types/overview.ts";
import type { PolicyVersion } from "../../gateway/page/data/types/policies.ts";
import type { LiveBatch, LiveEvent, RequestList, RequestRow } from "../../gateway/page/data/types/requests.ts";
import type { RawRecord } from "../../connections/kafka/port.ts";
import type { BatchList } from "../../gateway/page/data/batches.ts";
import type { KeyList } from "../../gateway/page/data/keys.ts";
import { createLetters } from "../../gateway/page/data/letters.ts";
import type { Letter, LetterRow } from "../../gateway/page/data/dead-letters.ts";
import type { OwnerList } from "../../gateway/page/data/owners.ts";
import type { PolicyChange } from "../../gateway/page/data/policy-change.ts";
import type { SessionList } from "../../gateway/page/data/sessions.ts";
import type { Conversation } from "../../gateway/conversation.ts";
import type { Feedback } from "../../schemas/types.ts";
import { buildPage } from "../../tools/setup/build-page.ts";
import { startBrowser } from "../support/browser.ts";
import { domain, hostile, linesOf, traffic } from "../support/page-traffic.ts";
import { follow } from "../support/follow.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const browser = await startBrowser();
const screenshots = fileURLToPath(new URL("../../.precedent/screenshots", import.meta.url));
let folder: string;
let system: TestSystem;
let origin: string;

beforeAll(async () => {
  await buildPage();
  folder = await mkdtemp(join(tmpdir(), "precedent-page-"));
  const arm = { type: "recorded", latencySpreadMs: 40 };
  for (const name of ["small", "large"] as const) await writeFile(join(folder, `${name}.jsonl`), linesOf(name));
  system = await startSystem(
    {
      learn: { everyMs: 300, settleMs: 0 },
      selection: { examples: 3 },
      cache: { enabled: true },
      arms: [
        {
          ...arm,
          name: "small",
          model: "small-0.5b",
          file: join(folder, "small.jsonl"),
          examples: true,
          cost: 0.1,
          prices: { prompt: 0.1, completion: 0.3 },
        },
        {
          ...arm,
          name: "large",
          model: "large-32b",
          file: join(folder, "large.jsonl"),
          cost: 1,
          prices: { prompt: 2.5, completion: 10 },
        },
      ],
    },
    { stages: stageNames },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(system.config));
  origin = new URL(system.stages.baseUrl ?? "").origin;
  const examples = traffic.map(({ question, large }) => ({
    request: question.replace("How do I", "How can I"),
    response: large,
    tenant: "default",
    domain,
    quality: 0.8,
  }));
  await writeFile(join(folder, "examples.jsonl"), examples.map((one) => JSON.stringify(one)).join("\n"));
  expect((await runCommand(folder, ["examples", "import", join(folder, "examples.jsonl")])).code).toBe(0);
  // Two rounds, so that there is something to learn from, and something in the cache.
  for (const fresh of [true, false])
    await Promise.all(
      traffic.map(async (asked, i) => {
        const answer = await ask(asked.question, { model: i % 5 === 0 ? "large" : "auto", fresh });
        const value = answer.arm === "large" || asked.good ? 1 : 0;
        if (i % 4 !== 3) await post("/v1/feedback", { request_id: answer.id, kind: "thumbs", value });
      }),
    );
  for (const text of hostile) await ask(text);
  await post("/v1/chat/completions", chat("Do you sell tripods?", {}));
  const all = 2 * traffic.length + hostile.length + 1;
  await system.eventually("everything is recorded", async () => {
    const rows = await list();
    return rows.length === all && rows.every(({ state }) => state !== "open") ? true : undefined;
  });
});
afterAll(async () => {
  if (typeof browser !== "string") await browser.close();
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Choice {
  model?: string;
  fresh?: boolean;
  share?: boolean;
  metadata?: Record<string, string>;
}
const chat = (content: string, { model = "auto", fresh = false, share = true, metadata = {} }: Choice) => ({
  ...{ model, metadata },
  messages: [{ role: "user", content }],
  precedent: { domain, privacy: { fresh, share } },
});
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
async function ask(content: string, choice: Choice = {}): Promise<{ id: string; arm: string }> {
  const answer = await post("/v1/chat/completions", chat(content, choice));
  const body = (await answer.json()) as { id: string; precedent: { arm: string } };
  expect(answer.status, JSON.stringify(body)).toBe(200);
  return { id: body.id, arm: body.precedent.arm };
}
const api = (path: string, query: Record<string, string> = {}): Promise<Response> =>
  fetch(`${origin}/page/api/${path}?${new URLSearchParams(query).toString()}`);
async function get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  const answer = await api(path, query);
  const body = (await answer.json()) as T;
  expect(answer.status, JSON.stringify(body)).toBe(200);
  return body;
}

const list = async (query: Record<string, string> = {}): Promise<RequestRow[]> =>
  (await get<RequestList>("requests", query)).rows;

const questions = [
  "requests",
  "request?id=x&tenant=y",
  "overview",
  "owners?by=key",
  "policies",
  "policy-rewards",
  "policy-change?version=999999",
  "examples",
  "example?id=x",
  "values",
  "health",
  "names",
  "keys",
  "letters",
  "letter?topic=x&partition=0&offset=0&stage=plan",
  "sessions",
  "batches",
  "live",
];
const changes = [
  ...["revert", "resume", "feedback", "ask-again", "example-keep", "example-edit", "example-remove"],
  ...["key-create", "key-limit", "key-revoke", "letter-retry"],
];

/** fetch sets Host by itself. */
function statusOf(path: string, headers: Record<string, string>, method = "GET"): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(`${origin}${path}`, { method, headers }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    });
    asked.on("error", reject);
    asked.end(method === "POST" ? "{}" : undefined);
  });
}

describe("files", () => {
  test("load nothing from elsewhere, run nothing inline, and are kept by their names", async () => {
    const page = await fetch(`${origin}/`);
    const text = await page.text();
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    expect(text).not.toMatch(/<script(?![^>]*src=)|\sstyle=|\son\w+=/);
    const names = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = ""]) => name);
    expect(names.length).toBe(3);
    for (const name of names) {
      expect(name).toMatch(/^\/page\/files\//);
      const file = await fetch(`${origin}${name}`);
      expect([file.status, file.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
      const etag = file.headers.get("etag") ?? "";
      expect((await fetch(`${origin}${name}`, { headers: { "if-none-match": etag } })).status).toBe(304);
    }
    expect((await fetch(`${origin}/page/files/..%2F..%2Fpackage.json`)).status).toBe(404);
    expect((await fetch(`${origin}/page/files/built.txt`)).status).toBe(404);
  });
});

describe("who may ask", () => {
  const host = () => new URL(origin).host;
  test.each(questions)("%s: this machine, under its own name, not at another site's wish", async (path) => {
    const url = `/page/api/${path}`;
    expect(await statusOf(url, { host: "evil.example" })).toBe(401);
    expect(await statusOf(url, { host: host(), "x-forwarded-for": "10.0.0.1" })).toBe(401);
    expect(await statusOf(url, { host: host(), "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusOf(url, { host: host(), origin: "http://evil.example" })).toBe(403);
    expect([200, 404]).toContain(await statusOf(url, { host: host(), "sec-fetch-site": "same-origin" }));
  });
  test.each(changes)("%s: by the page alone", async (path) => {
    const url = `/page/api/${path}`;
    const json = { "content-type": "application/json", host: host() };
    expect(await statusOf(url, json, "POST")).toBe(403);
    expect(await statusOf(url, { ...json, origin: "http://evil.example" }, "POST")).toBe(403);
    expect(await statusOf(url, { ...json, origin: "null" }, "POST")).toBe(403);
    expect(await statusOf(url, { ...json, host: "evil.example", origin: "http://evil.example" }, "POST")).toBe(401);
    expect(await statusOf(url, { ...json, "content-type": "text/plain", origin }, "POST")).toBe(415);
    expect(await statusOf(url, { ...json, origin }, "POST")).toBe(400);
  });
});

describe("requests", () => {
  test("are found by words, arm, state, domain, source and time", async () => {
    const [row] = await list({ search: "FACTORY settings" });
    expect(row).toMatchObject({
      question: traffic[0]?.question,
      tenant: "default",
      domain: `default/${domain}`,
      state: "ok",
    });
    expect(row?.totalMs).toBeGreaterThan(0);
    const count = async (query: Record<string, string>): Promise<number> => (await list(query)).length;
    const all = 2 * traffic.length + hostile.length + 1;
    expect((await count({ arm: "small" })) + (await count({ arm: "large" }))).toBe(all);
    expect(await count({ state: "failed" })).toBe(1);
    expect(await count({ state: "open" })).toBe(0);
    expect(await count({ source: "cache" })).toBeGreaterThan(0);
    expect(await count({ domain: `default/${domain}`, tenant: "default", limit: "5" })).toBe(5);
    expect(await count({ tenant: "another" })).toBe(0);
    expect(await count({ until: "1000", from: "0" })).toBe(0);
    expect(await count({ search: row?.id.slice(0, 30) ?? "" })).toBeGreaterThan(0);
  });
  test("show the chosen arm's score, examples, cost and reward", async () => {
    const rows = await list({ source: "generated", arm: "small" });
    const shown = rows.find(({ examples, reward }) => examples > 0 && reward !== null);
    expect(shown?.probability).toBeGreaterThan(0);
    expect(shown?.score).toBeTypeOf("number");
    expect(shown?.cost).toBeGreaterThan(0);
  });
  test("what was asked for wrongly, or as SQL, is refused or finds nothing", async () => {
    for (const wrong of [{ state: "x" }, { limit: "0" }, { from: "yesterday" }, { sql: "SELECT 1" }])
      expect((await api("requests", wrong as Record<string, string>)).status, JSON.stringify(wrong)).toBe(400);
    const quoted = "' OR 1 = 1) UNION ALL SELECT * FROM requests --";
    for (const name of ["search", "arm", "domain", "tenant", "source"])
      expect(await list({ [name]: quoted })).toEqual([]);
    expect((await get<ExampleList>("examples", { search: quoted })).rows).toEqual([]);
    expect((await api("request", { id: quoted, tenant: quoted })).status).toBe(404);
  });
  test("come as they happen", async () => {
    const stopping = new AbortController();
    const stream = await fetch(`${origin}/page/api/live`, { signal: stopping.signal });
    const seen: LiveEvent[] = [];
    const reading = (async () => {
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of stream.body ?? []) {
        const events = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events)
          if (event.startsWith("data: ")) seen.push(...(JSON.parse(event.slice(6)) as LiveBatch).events);
      }
    })().catch(() => undefined);
    // The tails begin with the first viewer.
    await system.eventually("decided and answered", async () => {
      await ask("Can I pay by invoice?", { fresh: true });
      return new Set(seen.map(({ kind }) => kind)).size === 2 ? true : undefined;
    });
    expect(seen.find(({ kind }) => kind === "answered")).toMatchObject({ tenant: "default", state: "ok" });
    stopping.abort();
    await reading;
  });
});

describe("explain and figures", () => {
  test("one request: arms, examples, tokens and times", async () => {
    const rows = await list({ source: "generated", arm: "small" });
    const shown = rows.filter(({ examples }) => examples > 0);
    expect(shown.length).toBeGreaterThan(0);
    const all = await Promise.all(
      shown.slice(0, 6).map(({ id, tenant }) => get<Conversation>("request", { id, tenant })),
    );
    for (const { decision } of all) expect(decision?.arms.map(({ arm }) => arm).toSorted()).toEqual(["large", "small"]);
    // Some decisions lost their examples to better ones meanwhile.
    const found = all.find(({ examples }) => examples.length > 0) ?? all[0]!;
    const { id } = found.request;
    expect(found.response).toMatchObject({ status: "ok", linkedTokens: 0, recomputedTokens: 0 });
    expect(found.response?.planMs).toBeGreaterThanOrEqual(0);
    expect((await api("request", { id, tenant: "another" })).status).toBe(404);
  });
  test("arms over time, savings, examples with their uses, health", async () => {
    // What the tests before asked may be recorded only now.
    const { now, arms, steps, rows } = await system.eventually("every answer counts once", async () => {
      const [overview, rows] = [await get<Overview>("overview"), await list()];
      const isAnswered = rows.every(({ state }) => state !== "open");
      return isAnswered && overview.now.answers === rows.length ? { ...overview, rows } : undefined;
    });
    expect(now.answers).toBeGreaterThan(2 * traffic.length);
    expect(now.cacheHits).toBeGreaterThan(0);
    expect(now.failed).toBe(1);
    for (const each of [arms, steps]) expect(each.reduce((sum, { answers }) => sum + answers, 0)).toBe(now.answers);
    expect(now.cost).toBeCloseTo(
      rows.reduce((sum, { cost }) => sum + cost, 0),
      9,
    );
    for (const by of ["tenant", "domain", "key"]) {
      const { rows: owners, found } = await get<OwnerList>("owners", { by });
      expect(found).toBe(owners.length);
      expect(owners.reduce((sum, { answers }) => sum + answers, 0)).toBe(now.answers);
      expect(owners.reduce((sum, { failed }) => sum + failed, 0)).toBe(now.failed);
    }
    const {
      rows: [example],
      countedFrom,
    } = await get<ExampleList>("examples");
    expect(countedFrom).toBeNull();
    expect(example?.uses).toBeGreaterThan(0);
    const known = await get<WholeExample>("example", { id: example?.id ?? "" });
    expect(known.example).toMatchObject({ id: example?.id, requestId: null, sourceArm: "import" });
    expect(known.uses.length).toBeGreaterThan(0);
    const health = await get<Health>("health");
    expect(health.problems).toEqual([]);
    for (const name of ["gateway", "plan", "record", "learn", "curate"])
      expect(health.stages.find(({ stage }) => stage === name)).toMatchObject({ stage: name, members: 1 });
    expect(health.tables.find(({ table }) => table === "responses")?.lastHour).toBeGreaterThan(0);
  });
  test("a policy goes back, and on again", async () => {
    const versions = await twoVersions();
    const oldest = versions.at(-1)?.version ?? 0;
    const newest = versions[0]?.version ?? 0;
    const change = await get<PolicyChange>("policy-change", { version: String(newest) });
    expect(change).toMatchObject({ version: newest, before: versions[1]?.version, problem: "" });
    for (const { arm, now, before, deviation } of change.changes)
      expect([["small", "large"].includes(arm), now === before, deviation > 0]).toEqual([true, false, true]);
    expect(await get<PolicyChange>("policy-change", { version: String(oldest) })).toMatchObject({ before: null });
    const made = await post("/page/api/revert", { name: "router", version: oldest }, { origin });
    expect(await made.json()).toMatchObject({ name: "router", revertOf: oldest });
    await system.eventually("the revert is recorded", async () => {
      const [newest] = await get<PolicyVersion[]>("policies", { name: "router" });
      return newest?.revertOf === oldest ? true : undefined;
    });
    expect((await post("/page/api/resume", { name: "router" }, { origin })).status).toBe(200);
    expect((await post("/page/api/revert", { name: "router", version: 1e6 }, { origin })).status).toBe(409);
    expect((await post("/page/api/resume", { name: "nothing" }, { origin })).status).toBe(409);
  });
});

describe("sessions, batches and dead letters", () => {
  test("a session has its requests, arms, cost and reward", async () => {
    const session = 'trip to the "coast" 100 %';
    for (const content of ["Where is my order?", "Can I pay by invoice?"])
      await post("/v1/chat/completions", { ...chat(content, { fresh: true }), metadata: { session } });
    const row = await system.eventually("both are recorded", async () => {
      const { rows } = await get<SessionList>("sessions", { search: "trip" });
      return rows[0]?.requests === 2 && rows[0].unanswered === 0 ? rows[0] : undefined;
    });
    expect(row).toMatchObject({ session, tenant: "default", reward: null });
    const { firstAt: from, lastAt } = row;
    const requests = await list({ session, tenant: "default", from: String(from), until: String(lastAt + 1) });
    expect(requests.length).toBe(2);
    expect(row.arms).toEqual([...new Set(requests.map(({ arm }) => arm))].toSorted());
    expect(row.cost).toBeCloseTo(
      requests.reduce((sum, { cost }) => sum + cost, 0),
      9,
    );
    for (const query of [{ search: "no" }, { tenant: "another" }, { from: "0", until: "1000" }])
      expect((await get<SessionList>("sessions", query as Record<string, string>)).rows).toEqual([]);
  });

  test("a batch has its state, counts and cost, and leads to its requests", async () => {
    const lines = ["How do I format a card?", "What does error E-17 mean?"].map((content, i) =>
      JSON.stringify({
        ...{ custom_id: `line-${i}`, method: "POST", url: "/v1/chat/completions" },
        body: { model: "large", messages: [{ role: "user", content }] },
      }),
    );
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none", maxRetries: 0 });
    const content = await toFile(Buffer.from(lines.join("\n")), "night.jsonl");
    const file = await client.files.create({ purpose: "batch", file: content });
    const order = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    const { id } = await client.batches.create(order);
    const row = await system.eventually("it is completed, and recorded", async () => {
      const { rows } = await get<BatchList>("batches", { tenant: "default" });
      expect(rows).toMatchObject([{ status: "completed" }]);
      return (rows[0]?.cost ?? 0) > 0 ? rows[0] : undefined;
    });
    expect(row).toMatchObject({ id, tenant: "default", file: "night.jsonl", total: 2, completed: 2, failed: 0 });
    expect((await list({ search: `${id}-`, tenant: "default" })).length).toBe(2);
    expect((await get<BatchList>("batches", { tenant: "another" })).rows).toEqual([]);
  });

  test("a dead letter is readable whole, and its record is sent again once, as it was", async () => {
    const topic = system.session.topic("requests");
    const [key, value] = [Buffer.from("näme"), Buffer.from([0, 0, 0, 0, 99, 1, 2, 3])];
    const headers = { traceparent: "00-x", "x-odd": Buffer.from([0xff, 0]) };
    const seen: RawRecord[] = [];
    const tail = await system.session.kafka.tailTopic(topic, (record) => {
      if (record.key?.equals(key) === true) seen.push(record);
    });
    const producer = system.session.kafka.plainProducer();
    await producer.send([{ topic, key, value, headers }]).finally(() => producer.close());
    const find = (): Promise<LetterRow[]> => get<LetterRow[]>("letters", { topic, stage: "plan" });
    const [row] = await system.eventually("the dead letter is recorded", async () => {
      const found = await find();
      return found.length > 0 ? found : undefined;
    });
    const { partition, offset, createdAt } = row!;
    // Those of one millisecond are on both pages, and on none twice.
    const page = { topic, stage: "plan", before: String(createdAt) };
    expect((await get<LetterRow[]>("letters", page)).map((one) => one.offset)).toEqual([offset]);
    expect(await get<LetterRow[]>("letters", { ...page, skip: "1" })).toEqual([]);
    const at = { topic, stage: "plan", partition: String(partition), offset: String(offset) };
    const letter = await get<Letter>("letter", at);
    expect(letter).toMatchObject({ key: { text: "näme", isBase64: false }, fullBytes: null, retriedAt: null, record: null }); // prettier-ignore
    expect(Buffer.from(letter.value?.text ?? "", "base64").equals(value)).toBe(true);
    expect(letter.headers.map(({ name }) => name)).toEqual(["traceparent", "x-odd"]);

    const retry = (of: object): Promise<Response> => post("/page/api/letter-retry", { ...at, ...of }, { origin });
    // Three at a time, by two gateways of which one never hears of it by ClickHouse: one is sent.
    const { session } = system;
    const deaf: typeof session.clickhouse.query = async (sql, parameters) =>
      (await session.clickhouse.query<object>(sql, parameters)).map((one) => ({ ...one, retriedAt: null })) as never;
    const other = createLetters({ session, clickhouse: { query: deaf }, recordOf: () => "requests", clock: Date.now });
    const elsewhere = (): Promise<unknown> => other.retry({ topic, stage: "plan", partition, offset });
    const [statuses, [byOther]] = await Promise.all([
      Promise.all([retry({}), retry({})]),
      Promise.allSettled([elsewhere()]),
    ]);
    const sent = [...statuses.map(({ status }) => status === 200), byOther.status === "fulfilled"];
    expect(sent.filter(Boolean)).toEqual([true]);
    const [first, again] = await system.eventually("it is on the topic again", () => Promise.resolve(seen.length > 1 ? seen : undefined)); // prettier-ignore
    expect([again?.key, again?.value, again?.headers]).toEqual([first?.key, first?.value, first?.headers]);
    expect(again?.headers["x-odd"]).toEqual(Buffer.from([0xff, 0]));
    const letters = await system.eventually("that is noted, and plan gave up on it again", async () => {
      const found = await find();
      return found.length === 2 && found.some(({ retriedAt }) => retriedAt !== null) ? found : undefined;
    });
    expect(letters.find((one) => one.offset === offset)?.retriedAt).toBeGreaterThan(0);
    expect((await retry({})).status).toBe(409);
    await expect(elsewhere()).rejects.toThrow("sent again already");
    for (const wrong of [{ offset: 1e6 }, { topic: "elsewhere" }, { stage: "record" }])
      expect((await retry(wrong)).status).toBe(409);
    expect(seen.length).toBe(2);
    const health = await get<Health>("health");
    expect(health.deadLetters.find((one) => one.topic === topic)).toMatchObject({ stage: "plan", count: 1 });
    expect(health.deadLetters.map(({ code }) => code)).not.toContain("retried");
    await tail.stop();
  });
});

const twoVersions = (): Promise<PolicyVersion[]> =>
  system.eventually("two versions of the router", async () => {
    const found = await get<PolicyVersion[]>("policies", { name: "router" });
    if (found.length > 1) return found;
    // What was said at once became one version: more is said for another.
    const { id } = await ask("Where is my order?", { fresh: true });
    await post("/v1/feedback", { request_id: id, kind: "thumbs", value: 1 });
    return undefined;
  });

describe.skipIf(typeof browser === "string")(`in a browser${typeof browser === "string" ? `: ${browser}` : ""}`, () => {
  const views = [
    ...["overview", "requests", "sessions", "batches", "arms", "policies", "examples", "comparison"],
    ...["health", "letters", "keys"],
  ];
  const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
  const problems: string[] = [];
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    await mkdir(screenshots, { recursive: true });
    context = await (browser as Browser).newContext({ locale: "en-US", viewport: { width: 1440, height: 860 } });
    page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("request", (asked) => {
      if (new URL(asked.url()).origin !== origin) problems.push(`it asked ${asked.url()}`);
    });
    await page.goto(`${origin}/#/requests`);
    await page.waitForSelector("tbody tr");
  });
  afterAll(() => context.close());
  // By the debugger: the page's policy allows no eval, by which Playwright would wait in the page.
  const until = (what: string, expression: string): Promise<true> =>
    system.eventually(what, async () => ((await page.evaluate(expression)) === true ? true : undefined));
  const textsOf = (selector: string): Promise<string[]> => page.locator(selector).allTextContents();
  const shoot = (name: string): Promise<Buffer> => page.screenshot({ path: join(screenshots, `${name}.png`) });
  const show = async (hash: string, selector = ".panel, tbody tr"): Promise<void> => {
    await page.goto(`${origin}/#/${hash}`);
    await page.waitForSelector(selector);
  };

  test("texts of users stay texts", async () => {
    const texts = await textsOf("tbody td.text");
    for (const text of hostile) expect(texts.some((one) => one.includes(text.slice(0, 30)))).toBe(true);
    for (const text of hostile) {
      const [row] = await list({ search: text.slice(0, 30) });
      await show(`request?tenant=default&id=${row?.id ?? ""}`, ".turn pre");
      expect(await textsOf(".turn pre")).toContain(text);
    }
    expect(await page.evaluate("window.broken")).toBeUndefined();
    expect(await page.$$eval("script, svg, img[onerror]", (found) => found.length)).toBe(1);
  });

  test("by the keyboard alone: search, rows, open, back, views, theme", async () => {
    await show("requests");
    await page.keyboard.press("/");
    await page.keyboard.type("firmware");
    await until(
      "every row fits",
      "((cells) => cells.length > 0 && cells.every((cell) => cell.textContent.includes('firmware')))([...document.querySelectorAll('tbody td.text')])",
    );
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".explain .chosen, .explain .note");
    expect(await page.textContent(".turn pre")).toContain("firmware");
    await page.keyboard.press("Backspace");
    await page.waitForSelector("#search");
    await page.keyboard.press("9");
    await page.waitForSelector("text=Stages without a process");
    const theme = "document.documentElement.dataset.theme";
    const before = JSON.stringify(await page.evaluate(theme));
    await page.keyboard.press("t");
    await until("the other theme", `${theme} !== ${before}`);
    await page.keyboard.press("t");
    await until("the theme as it was", `${theme} === ${before}`);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  });

  test("a new request shows by itself", async () => {
    await show("requests");
    await page.waitForSelector(".live i.on");
    const before = await page.$$eval("tbody tr", (rows) => rows.length);
    await ask("Is the body weather sealed?", { fresh: true });
    await until("a row more", `document.querySelectorAll("tbody tr").length > ${before}`);
    await until("with its question", "document.querySelector('tbody td.text').textContent.includes('weather')");
  });

  test("a policy goes back by two clicks", async () => {
    await twoVersions();
    await show("policies", "text=Revert to it");
    await page.click("text=Revert to it >> nth=0");
    await shoot("revert");
    await page.click("dialog .primary");
    await page.waitForSelector("text=learning is paused.");
    await page.click("text=Resume learning");
    await page.click("dialog .primary");
    await page.waitForSelector("text=learning goes on.");
  });

  // docs/page.md: "When a user complains about an answer".
  test("a complaint is found, understood and corrected, and what is learnt of it is seen", async () => {
    const given: Feedback[] = [];
    const topic = await follow(system.session, "feedback", (one) => given.push(one));
    const { question } = traffic[2]!;
    await ask(question, { model: "small", fresh: true, metadata: { user: "maria" } });
    const { id } = await system.eventually("it is recorded", async () => (await list({ user: "maria" }))[0]);
    const newest = async (): Promise<number> =>
      (await get<PolicyVersion[]>("policies")).find(({ name }) => name === "router")?.version ?? 0;
    const before = await newest();
    const begun = performance.now();

    await show("overview", ".stats");
    await page.click("nav >> text=Requests");
    // The overview has a Time, too.
    await page.waitForSelector("summary:has-text('More')");
    await page.locator("label:has(span:text-is('Time')) select").selectOption("last 7 days");
    await page.click("summary:has-text('More')");
    await page.locator("label:has(span:text-is('User')) input").fill("maria");
    await page.keyboard.press("Tab");
    await until("the user's request alone", "document.querySelectorAll('tbody tr').length === 1");
    await page.click("tbody a[data-row]");
    await page.waitForSelector("text=Why this arm");
    await page.waitForSelector("text=Why these examples");
    await page.getByRole("button", { name: "Correct it" }).click();
    await page.fill("textarea", "Switch off Wireless. <b>Really</b>");
    await page.getByRole("button", { name: "Send the correction" }).click();
    await page.waitForSelector("text=The correction is given.");
    const correction = {
      requestId: id,
      tenant: "default",
      kind: "correction",
      text: "Switch off Wireless. <b>Really</b>",
    };
    await system.eventually("it is in Kafka", () => Promise.resolve(given.length > 0 ? given : undefined));
    expect(given).toMatchObject([{ ...correction, source: "person", author: "page" }]);
    await page.waitForSelector("text=/^Reward 0\\.000, with weight/");
    await system.eventually("a version follows, and the correction is an example", async () => {
      const [row] = await system.session.clickhouse.query<{ response: string }>(
        "SELECT response FROM examples FINAL WHERE source_request_id = {id:String} AND source_arm = 'person' AND NOT deleted",
        { id },
      );
      return (await newest()) > before && row?.response === correction.text ? row : undefined;
    });
    await page.click("nav >> text=Overview");
    await page.waitForSelector(`text=router ${await newest()}`);
    expect(performance.now() - begun).toBeLessThan(120_000);
    await topic.stop();
  });

  test("a person rates and scores an answer, and takes an example out", async () => {
    const given: Feedback[] = [];
    const topics = await Promise.all([follow(system.session, "feedback", (one) => given.push(one))]);

    const all = (await list({ source: "generated", arm: "small" })).filter(({ examples }) => examples > 0);
    const wholes: Conversation[] = [];
    for (const { id, tenant } of all.slice(0, 12)) wholes.push(await get<Conversation>("request", { id, tenant }));
    const { request, examples } = wholes.find((one) => one.examples.length > 0)!;
    await show(`request?tenant=default&id=${request.id}`, ".acts");
    for (const [name, text] of [
      ["Good", "A thumb up is given."],
      ["Bad", "A thumb down is given."],
      ["Score 2 of 5", "A score of 2 of 5 is given."],
    ] as const) {
      await page.getByRole("button", { name }).click();
      await page.waitForSelector(`text=${text}`);
    }
    await system.eventually("they are in Kafka", async () => (given.length >= 3 ? true : undefined));
    expect(given).toMatchObject([
      { requestId: request.id, tenant: "default", kind: "thumbs", value: 1, source: "person", author: "page" },
      { kind: "thumbs", value: -1 },
      { kind: "score", value: 2, range: { low: 1, high: 5 } },
    ]);
    await system.eventually("they are in ClickHouse, and learnt from", async () => {
      const { feedback, reward } = await get<Conversation>("request", { id: request.id, tenant: "default" });
      const ids = new Set(feedback.map(({ id }) => id));
      return given.every(({ id }) => ids.has(id)) && (reward?.received ?? 0) >= 3 ? true : undefined;
    });
    const [example] = examples;
    await page.getByRole("button", { name: `Take out example ${example!.id.slice(0, 12)}` }).click();
    await page.click("dialog .primary");
    await page.waitForSelector("text=is taken out.");
    await system.eventually("the example is gone", async () => {
      const [row] = await system.session.clickhouse.query<{ deleted: boolean }>(
        "SELECT deleted FROM examples FINAL WHERE example_id = {id:String}",
        { id: example!.id },
      );
      return row?.deleted === true ? true : undefined;
    });
    expect((await post("/page/api/example-remove", { id: example!.id }, { origin })).status).toBe(409);
    for (const topic of topics) await topic.stop();
  });

  test("a person asks again on another arm and by a policy, and nothing of it is published", async () => {
    const topics = ["requests", "decisions", "responses", "feedback"] as const;
    const published = async (): Promise<number> => {
      const spans = await Promise.all(topics.map((name) => system.session.kafka.spans(system.session.topic(name))));
      return spans.flat().reduce((sum, { end }) => sum + end, 0);
    };
    const rows = await list({ source: "generated", arm: "small" });
    const answers = new Map(traffic.map((one) => [one.question, one]));
    const row = rows.find(({ question, user }) => user === "" && answers.has(question));
    const answer = answers.get(row!.question)!;
    const before = await published();
    await show(`request?tenant=default&id=${row!.id}`, "text=Who answers");
    await page.getByLabel("Who answers").selectOption("arm large");
    await page.getByRole("button", { name: "Ask again" }).click();
    const region = page.getByRole("region", { name: "Answer of the call" });
    await region.waitFor();
    expect(await region.getByRole("region", { name: "Recorded" }).textContent()).toBe(answer.small);
    expect(await region.getByRole("region", { name: "Asked again" }).textContent()).toBe(answer.large);
    expect(await region.locator("mark").count()).toBeGreaterThan(0);
    await page.getByLabel("Who answers").selectOption("policy 0");
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.waitForSelector("text=/Version 0 of the router chooses (small|large) with probability/");
    await shoot("ask-again");
    const again = { id: row!.id, tenant: "default", maxCost: 1 };
    expect((await post("/page/api/ask-again", { ...again, arm: "other" }, { origin })).status).toBe(409);
    expect((await post("/page/api/ask-again", { ...again, policyVersion: 1e6 }, { origin })).status).toBe(409);
    expect((await post("/page/api/ask-again", { ...again, id: "none", arm: "large" }, { origin })).status).toBe(409);
    expect((await post("/page/api/ask-again", again, { origin })).status).toBe(400);
    expect(await published()).toBe(before);
    await page.click("text=As a command line or code");
    const command = await page.getByRole("region", { name: "Command line with curl" }).textContent();
    const { stdout } = await promisify(execFile)("sh", ["-c", command ?? ""], { env: { ...process.env, PRECEDENT_API_KEY: "none" } }); // prettier-ignore
    expect((JSON.parse(stdout) as OpenAI.ChatCompletion).choices[0]?.message.content).toMatch(/./);
    expect(await published()).toBeGreaterThan(before);
  });

  test("a dead letter is read and its record sent again", async () => {
    const topic = system.session.topic("requests");
    const ends = async (): Promise<number> =>
      (await system.session.kafka.spans(topic)).reduce((sum, { end }) => sum + end, 0);
    const before = await ends();
    const open = async (): Promise<LetterRow[]> =>
      (await get<LetterRow[]>("letters", { topic, stage: "plan" })).filter(({ retriedAt }) => retriedAt === null);
    const [letter] = await open();
    await show("health");
    await page.click(`tbody a[href*="letters?topic="]`);
    await page.click(`tbody a[href*="offset=${letter!.offset}&"]`);
    await page.getByRole("button", { name: `Send it to ${topic} again` }).click();
    await page.locator("dialog").getByRole("button", { name: "Send" }).click();
    await page.waitForSelector(`text=The record is sent to ${topic} again.`);
    expect(await ends()).toBeGreaterThan(before);
    await system.eventually("that is noted, and plan gave up on it once more", async () =>
      (await open()).some(({ offset }) => offset > letter!.offset) &&
      (await open()).every(({ offset }) => offset !== letter!.offset)
        ? true
        : undefined,
    );
  });

  test("a person keeps an answer as an example, corrects that and takes it out", async () => {
    const asked = traffic[7]!;
    await ask(asked.question, { model: "large", fresh: true });
    const { id } = await system.eventually("it is recorded", async () => {
      const [row] = await list({ search: asked.question, arm: "large", source: "generated" });
      return row;
    });
    await show(`request?tenant=default&id=${id}`, "text=Keep as example");
    await page.getByRole("button", { name: "Keep as example" }).click();
    await page.waitForSelector("text=The answer is an example");
    await page.click(".panel [role=status] a");
    const rowOf = async (example: string) =>
      (
        await system.session.clickhouse.query<Record<string, unknown>>(
          `SELECT response, source_arm, source_request_id, quality, deleted FROM examples FINAL WHERE example_id = {id:String}`,
          { id: example },
        )
      )[0];
    const shownId = (): string => new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("id") ?? "";
    const kept = shownId();
    await page.getByRole("button", { name: "Edit" }).click();
    expect(await rowOf(kept)).toEqual({
      ...{ response: asked.large, source_arm: "large", source_request_id: id, quality: 1, deleted: false },
    });
    expect((await post("/page/api/example-keep", { id, tenant: "default" }, { origin })).status).toBe(409);
    await page.getByLabel("Answer", { exact: true }).fill("Setup › Clean sensor. <i>Gently</i>");
    await page.getByRole("button", { name: "Replace it by this" }).click();
    await until("the corrected one is shown", `!location.hash.includes(${JSON.stringify(kept)})`);
    await page.waitForSelector("text=Setup › Clean sensor. <i>Gently</i>");
    const corrected = shownId();
    expect(await rowOf(corrected)).toMatchObject({ source_arm: "large", source_request_id: id, deleted: false });
    await system.eventually("the former one is gone", async () =>
      (await rowOf(kept))?.["deleted"] === true ? true : undefined,
    );
    await page.getByRole("button", { name: "Take out" }).click();
    await page.click("dialog .primary");
    await page.waitForSelector("text=It is taken out.");
    await system.eventually("the corrected one is gone", async () =>
      (await rowOf(corrected))?.["deleted"] === true ? true : undefined,
    );
    await ask(asked.question, { model: "small", fresh: true, share: false, metadata: { kind: "own" } });
    const own = await system.eventually("what may not be shared is recorded", async () => {
      const [row] = await list({ tag: "kind=own", source: "generated" });
      return row;
    });
    const refused = await post("/page/api/example-keep", { id: own.id, tenant: "default" }, { origin });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("the request does not allow it");
    expect((await post("/page/api/example-edit", { id: kept, request: "a", response: "b" }, { origin })).status).toBe(
      409,
    );
  });

  test("two requests are selected in the list and compared", async () => {
    await ask("Where is my order?", { fresh: true, metadata: { team: "search", user: "ann" } });
    const tagged = await system.eventually("it is recorded", async () => {
      const [row] = await list({ tag: "team=search", source: "generated" });
      return row;
    });
    expect(tagged).toMatchObject({ user: "ann", tags: ["team=search"] });
    expect((await list({ tag: "team" })).length).toBe(1);
    expect(await list({ tag: "team=searc" })).toEqual([]);
    const [failed] = await list({ state: "failed" });
    await show("requests");
    for (const one of [failed!, tagged])
      await page.getByLabel(`Select to compare: ${one.question}`, { exact: true }).first().check();
    await page.reload();
    await page.getByRole("button", { name: "Compare the two" }).click();
    await page.waitForSelector("text=Examples shown");
    await shoot("compare");
    const texts = await textsOf(".two pre");
    expect(texts.slice(0, 2).join("\n")).toContain("Do you sell tripods?");
    expect(texts.slice(0, 2).join("\n")).toContain("Where is my order?");
    const [link] = await page.locator(".back a[href*='request?']").all();
    await link?.click();
    await page.waitForSelector(".explain");
    await show("compare?a=nonsense&b=default%2Fx", ".nothing");
  });

  test("figures lead to the requests behind them, and the address holds the view", async () => {
    await show("overview", ".stats");
    await page.getByRole("link", { name: "Without an answer" }).click();
    await until("the one that failed", "document.querySelectorAll('tbody tr').length === 1");
    expect(page.url()).toContain("state=unanswered");
    await page.reload();
    await until("the same again", "document.querySelectorAll('tbody tr').length === 1");
    await show("requests?sort=cost&arm=large&hide=Tenant,User,Tags,p,Score,Ex.,Tokens,State");
    await until(
      "large answered all",
      "((rows) => rows.length > 0 && rows.every((row) => row.textContent.includes('large')))([...document.querySelectorAll('tbody tr')])",
    );
    await until(
      "rows of the new address",
      "!document.querySelector('thead').textContent.includes('Tenant') && document.querySelector('table[aria-busy=true]') === null",
    );
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=CSV")]);
    const [head, ...lines] = (await readFile(await download.path(), "utf8")).split("\r\n");
    expect(head).toBe("createdAt,id,question,answer,arm,source,cost,totalMs,reward");
    expect(lines.length).toBe((await page.locator("tbody tr").count()) + 1);
  });

  const themes = ["light", "dark"] as const;
  const allViews = async (): Promise<string[]> => {
    const rows = await list({ source: "generated", arm: "small" });
    // The one with the most to show: how many examples a request had is a matter of chance.
    const [fullest] = rows.filter(({ reward }) => reward !== null).sort((one, other) => other.examples - one.examples);
    const name = encodeURIComponent(`default/${fullest!.id}`);
    const { rows: [example] } = await get<ExampleList>("examples", { sort: "newest" }); // prettier-ignore
    const [letter] = await get<LetterRow[]>("letters");
    const { topic, partition, offset } = letter!;
    return [
      ...views,
      ...[
        `request?tenant=default&id=${fullest!.id}`,
        `compare?a=${name}&b=${encodeURIComponent(`default/${rows[0]!.id}`)}`,
      ],
      `examples?sort=newest&id=${example!.id}`,
      `letters?topic=${topic}&partition=${partition}&offset=${offset}&stage=plan`,
    ];
  };
  /** What a view shows last. */
  const shownBy: Record<string, string> = {
    comparison: "text=Variants beside",
    policies: ".changed ul, .changed .nothing",
    letter: ".letter",
  };
  const selectorOf = (view: string): string | undefined =>
    view.startsWith("examples?") ? ".turn pre" : shownBy[nameOf(view)];
  /** Folder of its screenshots. */
  const nameOf = (view: string): string => (view.startsWith("letters?") ? "letter" : (view.split("?")[0] ?? ""));
  const inTheme = async (theme: string): Promise<void> => {
    await page.evaluate(`localStorage.setItem("precedent.theme", "${theme}")`);
    await page.goto("about:blank");
    await page.goto(`${origin}/`);
  };
  test.each(themes)("%s: no serious violation of accessibility, on no view", async (theme) => {
    await inTheme(theme);
    const found: string[] = [];
    for (const view of await allViews()) {
      const name = nameOf(view);
      await show(view, selectorOf(view));
      await shoot(`${name}-${theme}`);
      found.push(...(await violations(page, axe)).map((one) => `${name}: ${one}`));
    }
    expect(found).toEqual([]);
  });
  test.each(themes)("%s: on a phone nothing is wider than the screen, and the menu is there", async (theme) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await inTheme(theme);
    const wide: string[] = [];
    for (const view of await allViews()) {
      const name = nameOf(view);
      await show(view, selectorOf(view));
      await page.screenshot({ path: join(screenshots, `${name}-phone-${theme}.png`), fullPage: true });
      // What scrolls by itself may be wider inside.
      const outside = await page.evaluate<string[]>(`[...document.querySelectorAll("body *")].filter((one) =>
        one.getBoundingClientRect().right > 391 && one.closest(".scroll, pre, .hidden, .skip, thead") === null).map((one) => one.outerHTML.slice(0, 100))`);
      wide.push(...outside.slice(0, 3).map((one) => `${name}: ${one}`));
      const overflow = await page.evaluate("document.documentElement.scrollWidth");
      if (overflow !== 390) wide.push(`${name} is ${String(overflow)} wide`);
    }
    expect(wide).toEqual([]);
    for (const view of ["Overview", "Health"]) await page.click(`nav >> text=${view}`);
    await page.waitForSelector("text=Stages without a process");
    await page.setViewportSize({ width: 1440, height: 860 });
  });

  test("a language that no number format takes is no reason for an empty page", async () => {
    const odd = await (browser as Browser).newContext({ viewport: { width: 1440, height: 900 } });
    await odd.addInitScript(
      `Object.defineProperty(navigator, "language", { get: () => "en-US@posix", configurable: true })`,
    );
    const shown = await odd.newPage();
    await shown.goto(`${origin}/#/arms`);
    await shown.waitForSelector(".chart canvas");
    await odd.close();
  });

  test("a view that breaks says what broke, and leaves the others", async () => {
    const breaking = await (browser as Browser).newContext({ viewport: { width: 1440, height: 900 } });
    const shown = await breaking.newPage();
    await shown.route("**/page/api/health*", (route) => route.fulfill({ json: { stages: null } }));
    await shown.goto(`${origin}/#/health`);
    await shown.waitForSelector("text=This part of the page broke.");
    expect(await shown.textContent(".problem pre")).toMatch(/^TypeError: .*\n.*\/page\/files\/main-/);
    await shown.click("nav >> text=Policies");
    await shown.waitForSelector("main .panel, main .nothing");
    await shown.close();
    await breaking.close();
  });

  test("nothing failed, nothing was asked of anybody else", () => {
    expect(problems).toEqual([]);
  });
});

interface Found {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

/** Serious and critical ones, by axe. */
async function violations(page: Page, axe: string): Promise<string[]> {
  // Evaluated by the debugger, which no policy of the page concerns.
  await page.evaluate(await readFile(axe, "utf8"));
  const result = await page.evaluate<Found>("axe.run(document, { resultTypes: ['violations'] })");
  return result.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id} ${nodes[0]?.html.slice(0, 160) ?? ""}`);
}

describe("with keys", () => {
  test("the first one made on the page is an admin key, or the page would close", async () => {
    const refused = await post("/page/api/key-create", { tenant: "acme" }, { origin });
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("admin key first")]);
    for (const wrong of [{ tenant: "acme", arm: ["huge"] }, { admin: true, tenant: "x" }, { tenant: "x".repeat(300) }])
      expect((await post("/page/api/key-create", wrong, { origin })).status, JSON.stringify(wrong)).toBe(400);
    expect(await get<KeyList>("keys")).toEqual({ keys: [], found: 0, hasKeys: false });
  });

  const host = (): string => new URL(origin).host;
  const create = async (...argv: string[]): Promise<string> => {
    const { code, out, note } = await runCommand(folder, ["keys", "create", ...argv]);
    expect(code, note).toBe(0);
    return out.trim();
  };
  let admin: string;

  test("those of tenants open nothing of it", async () => {
    admin = await create("--admin");
    const key = await create("--tenant", "default");
    await system.eventually("the key is known", async () => {
      const answer = await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      return answer.status === 200 ? true : undefined;
    });
    for (const authorization of ["", `Bearer ${key}`, "Bearer prk-000000000000.00000000000000000000000000000000"]) {
      for (const path of questions)
        expect([401, 403], path).toContain(await statusOf(`/page/api/${path}`, { host: host(), authorization }));
      for (const path of changes) {
        const headers = { host: host(), authorization, origin, "content-type": "application/json" };
        expect([401, 403], path).toContain(await statusOf(`/page/api/${path}`, headers, "POST"));
      }
    }
  });

  test("an admin key opens all of it, from anywhere, but not at another site's wish", async () => {
    const authorization = `Bearer ${admin}`;
    for (const path of questions)
      expect([200, 404], path).toContain(
        await statusOf(`/page/api/${path}`, { host: "gateway.example", authorization }),
      );
    expect(await statusOf("/page/api/names", { host: host(), authorization, "sec-fetch-site": "cross-site" })).toBe(
      403,
    );
  });

  test.skipIf(typeof browser === "string")("a person types the key, and it is in no address", async () => {
    const context = await (browser as Browser).newContext({ locale: "en-US" });
    const page = await context.newPage();
    await page.goto(`${origin}/`);
    await page.fill("input[type=password]", "prk-000000000000.00000000000000000000000000000000");
    await page.click("form .primary");
    await page.waitForSelector("text=This key is not valid");
    await page.fill("input[type=password]", admin);
    await page.click("form .primary");
    await page.waitForSelector("tbody tr");
    expect(page.url()).not.toContain("prk-");

    await page.click("nav >> text=Keys");
    await page.getByPlaceholder("default").fill("acme");
    await page.getByPlaceholder("what it is for").fill("<b>night</b> shift");
    await page.getByLabel("Requests a minute").fill("50");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForSelector(".copied pre");
    const key = (await page.textContent(".copied pre")) ?? "";
    const id = key.split(".")[0] ?? "";
    const statusWith = async (): Promise<number> =>
      (await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    await system.eventually("the key is one", async () => ((await statusWith()) === 200 ? true : undefined));
    await page.getByRole("button", { name: "I have it" }).click();
    await page.waitForSelector(".copied", { state: "detached" });
    expect(await page.content()).not.toContain(key);

    await page.getByRole("button", { name: `Limits of ${id}` }).click();
    await page.locator("dialog").getByLabel("Requests a minute").fill("");
    await page.locator("dialog").getByLabel("Spend limit a day").fill("2.5");
    await page.locator("dialog").getByRole("button", { name: "Change" }).click();
    await page.waitForSelector(`text=The limits of ${id} are changed.`);
    const listed = async (): Promise<Record<string, unknown>> => {
      const { out } = await runCommand(folder, ["keys", "list", "--tenant", "acme", "--json"]);
      return JSON.parse(out) as Record<string, unknown>;
    };
    expect(await listed()).toMatchObject({ id, label: "<b>night</b> shift", requestsPerMinute: null, spendLimitPerDay: 2.5 }); // prettier-ignore

    await page.getByRole("button", { name: `Revoke ${id}` }).click();
    await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.waitForSelector(`text=${id} is revoked.`);
    await system.eventually("the key is none any more", async () => ((await statusWith()) === 401 ? true : undefined));
    expect((await listed())["revokedAt"]).toBeGreaterThan(0);
    // The only admin key is not revoked by the page that it opens.
    const adminId = admin.split(".")[0] ?? "";
    await page.getByRole("button", { name: `Revoke ${adminId}` }).click();
    await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.waitForSelector("text=this is the only admin key that lasts");
    await context.close();
  });
});
