// API keys on the real stack, made by the command line and used by OpenAI's own client: the tenant
// is the key's, nothing of one tenant is another's, limits hold, and what is revoked is refused.
// The gateway runs beforehand without keys, as most do.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { follow } from "../support/follow.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import type { Feedback, Request, Response } from "../../schemas/types.ts";

interface Answered {
  response: Response;
}

let folder: string;
let model: TestModel;
let system: TestSystem;
let baseURL: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-gateway-keys-"));
  model = await startModel();
  const arm = { type: "openai", baseUrl: model.baseUrl, retries: 0, cost: 1 };
  system = await startSystem(
    {
      arms: [
        { ...arm, name: "small", model: "mock-1" },
        { ...arm, name: "large", model: "mock-2" },
      ],
      gateway: { feedbackSecret: "the secret of this test's deployment" },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  baseURL = system.stages.baseUrl ?? "";
  // Commands read a file.
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(system.config));
});
afterAll(async () => {
  await system.stop();
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

const user = (content: string) => [{ role: "user" as const, content }];
const clientOf = (apiKey: string): OpenAI => new OpenAI({ baseURL, apiKey, maxRetries: 0 });
async function keys(...argv: string[]): Promise<string> {
  const { code, out, note } = await runCommand(folder, ["keys", ...argv]);
  expect(code, note).toBe(0);
  return out.trim();
}
const idOf = (key: string): string => key.split(".")[0] ?? "";
/** A key is known once its record was read. */
const statusOf = async (key: string, path = "/models"): Promise<number> => {
  const answered = await fetch(`${baseURL}${path}`, { headers: { authorization: `Bearer ${key}` } });
  await answered.text();
  return answered.status;
};
const until = (key: string, status: number): Promise<true> =>
  system.eventually(`status ${status}`, async () => ((await statusOf(key)) === status ? true : undefined));
async function create(...argv: string[]): Promise<string> {
  const key = await keys("create", ...argv);
  await until(key, 200);
  return key;
}

test("without keys this machine is served as the tenant default; from the first key on it needs one", async () => {
  const { id } = await clientOf("none").chat.completions.create({ model: "small", messages: user("before") });
  expect(id).toMatch(/^chatcmpl-/);
  const key = await create("--tenant", "first", "--label", "the first");
  // Without keys every one is served: the gateway knows the first when it refuses others.
  await until("none", 401);
  expect(key).toMatch(/^prk-[0-9a-f]{12}\.[0-9a-f]{32}$/);
  const bare = await fetch(`${baseURL}/models`);
  expect([bare.status, ((await bare.json()) as { error: { code: string } }).error.code]).toEqual([
    ...[401, "missing_api_key"],
  ]);
  await expect(clientOf("none").models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  expect((await fetch(new URL("/healthz", baseURL))).status).toBe(200);
  // Before its body is read: this one is no JSON.
  const blind = await fetch(`${baseURL}/chat/completions`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: "{" },
  });
  expect(blind.status).toBe(401);
});

test("the secret is on no topic and in no list", async () => {
  const key = await create("--tenant", "listed", "--requests-per-minute", "1000");
  const [id = "", secret = ""] = key.split(".");
  const values: Buffer[] = [];
  const reader = system.session.kafka.readTopic(system.session.topic("keys"), (records) => {
    for (const { value } of records) if (value !== null) values.push(value);
  });
  await reader.caughtUp.finally(() => reader.stop());
  const all = Buffer.concat(values).toString("latin1");
  expect(all).toContain(id);
  expect(all).not.toContain(secret);
  for (const text of [await keys("list"), await keys("list", "--json")]) {
    expect(text).toContain(id);
    expect(text).toContain("listed");
    expect(text).not.toContain(secret);
    expect(text).not.toContain("hash");
  }
});

describe("two tenants", () => {
  let a: OpenAI;
  let b: OpenAI;
  let keyOfB: string;
  beforeAll(async () => {
    a = clientOf(await create("--tenant", "a"));
    b = clientOf((keyOfB = await create("--tenant", "b")));
  });
  const ask = (client: OpenAI, content: string, headers: Record<string, string> = {}) =>
    client.chat.completions.create({ model: "small", messages: user(content) }, { headers });

  test("each is who its key says, whatever the body says", async () => {
    const requests: Request[] = [];
    const tail = await follow(system.session, "requests", (request) => void requests.push(request));
    await ask(a, "whose is a");
    await ask(b, "whose is b");
    const refused = a.chat.completions.create({
      ...{ model: "small", messages: user("as b") },
      ...{ tenant: "b" },
    });
    await expect(refused).rejects.toMatchObject({ status: 400, param: "tenant" });
    await system.eventually("both requests", async () => (requests.length >= 2 ? true : undefined));
    await tail.stop();
    const asked = requests.map(({ tenant, messages }) => `${tenant}: ${messages[0]?.content}`);
    expect(asked.toSorted()).toEqual(["a: whose is a", "b: whose is b"]);
  });

  test("neither reads the other's requests", async () => {
    const { id } = await ask(a, "a secret of a");
    const why = `/requests/${id}`;
    await system.eventually("the recorded request", async () =>
      a.get(why).then(
        () => true,
        () => undefined,
      ),
    );
    expect(await statusOf(keyOfB, why)).toBe(404);
    await expect(b.get(why)).rejects.toMatchObject({ status: 404, code: "unknown_request" });
  });

  test("an admin key reads the requests of both, and makes none; theirs open nothing of that", async () => {
    const { id } = await ask(a, "operators may read this");
    const admin = await keys("create", "--admin", "--label", "operators");
    const path = `/admin/tenants/a/requests/${id}`;
    await until(admin, 403);
    await system.eventually("the recorded request", async () =>
      (await statusOf(admin, path)) === 200 ? true : undefined,
    );
    expect(await statusOf(admin, path.replace("/a/", "/b/"))).toBe(404);
    expect(await statusOf(keyOfB, path)).toBe(403);
    expect((await fetch(`${baseURL}${path}`)).status).toBe(401);
    await expect(ask(clientOf(admin), "as an operator")).rejects.toMatchObject({ status: 403, code: "admin_key" });
    await keys("revoke", idOf(admin));
    await until(admin, 401);
    expect(await statusOf(admin, path)).toBe(401);
  });

  test("feedback of one is none on the other's requests", async () => {
    const { id } = await ask(a, "judged by b");
    const requestId = id.replace("chatcmpl-", "");
    const reported: Feedback[] = [];
    const tail = await follow(system.session, "feedback", (feedback) => void reported.push(feedback));
    await b.post("/feedback", { body: { request_id: id, kind: "thumbs", value: -1 } });
    await a.post("/feedback", { body: { request_id: id, kind: "thumbs", value: 1 } });
    const why = await system.eventually("feedback of its owner", async () => {
      const found = (await a.get(`/requests/${id}`)) as { feedback: { value: number }[] };
      return found.feedback.length > 0 && reported.length >= 2 ? found : undefined;
    });
    await tail.stop();
    expect(why.feedback.map(({ value }) => value)).toEqual([1]);
    // What b said is b's own, of a request that b does not have.
    expect(reported.map(({ tenant, value }) => [tenant, value])).toEqual([
      ["b", -1],
      ["a", 1],
    ]);
    expect(reported.map((one) => one.requestId)).toEqual([requestId, requestId]);
  });

  test("the token of an answer takes the place of its owner's key for feedback on it, and of no other", async () => {
    const asked = a.chat.completions.create({ model: "small", messages: user("judged by its reader"), stream: true });
    const { data, response } = await asked.withResponse();
    const ids = new Set<string>();
    for await (const chunk of data) ids.add(chunk.id);
    const [id = ""] = ids;
    const reader = clientOf(response.headers.get("x-precedent-feedback-token") ?? "");
    const { id: other } = await ask(a, "without a rating");
    const thumbs = (request_id: string) =>
      reader.post("/feedback", { body: { request_id, kind: "thumbs", value: 1 } }) as Promise<object>;
    await expect(thumbs(other)).rejects.toMatchObject({ status: 403, code: "feedback_not_allowed" });
    await expect(reader.get(`/requests/${id}`)).rejects.toMatchObject({ status: 401 });
    expect(await thumbs(id)).toMatchObject({ object: "feedback", request_id: id.replace("chatcmpl-", "") });
    const why = await system.eventually("feedback of the reader", async () => {
      const found = (await a.get(`/requests/${id}`)) as { feedback: { value: number }[] };
      return found.feedback.length > 0 ? found : undefined;
    });
    expect(why.feedback.map(({ value }) => value)).toEqual([1]);
  });

  test("the same Idempotency-Key of both is two requests", async () => {
    const headers = { "Idempotency-Key": "the-same" };
    const ofA = await ask(a, "asked by a", headers);
    const ofB = await ask(b, "asked by b", headers);
    expect(ofB.id).not.toBe(ofA.id);
    expect([ofA, ofB].map(({ choices }) => choices[0]?.message.content)).toEqual(["asked by a", "asked by b"]);
    expect((await ask(a, "asked by a", headers)).id).toBe(ofA.id);
    await expect(ask(b, "asked by a", headers)).rejects.toMatchObject({ status: 422, code: "id_reused" });
  });
});

describe("what a key may do", () => {
  test("arms and domains that it does not have are refused, and not shown", async () => {
    const client = clientOf(await create("-t", "narrow", "-a", "small", "-d", "support,sales"));
    const ask = (arm: string, domain?: string) =>
      client.chat.completions.create({
        ...{ model: arm, messages: user("hello") },
        ...(domain === undefined ? {} : { precedent: { domain } }),
      });
    expect((await ask("auto", "sales")).choices[0]?.message.content).toBe("hello");
    await expect(ask("auto", "hr")).rejects.toMatchObject({ status: 403, code: "domain_not_allowed" });
    await expect(ask("auto")).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError);
    await expect(ask("large", "sales")).rejects.toMatchObject({ status: 403, code: "arm_not_allowed" });
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(["auto", "small"]);
  });

  test("requests beyond its limit are 429 with Retry-After, and other keys are not", async () => {
    const limited = await create("-t", "busy", "--requests-per-minute", "3");
    const other = await create("-t", "busy");
    const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(limited)));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(10);
    const refused = await clientOf(limited)
      .models.list()
      .then(
        () => undefined,
        (error: unknown) => error as InstanceType<typeof OpenAI.RateLimitError>,
      );
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    expect(refused).toMatchObject({ code: "rate_limit_exceeded" });
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await statusOf(other)).toBe(200);
  });

  test("tokens beyond its limit are 429, of streams, too", async () => {
    const client = clientOf(await create("-t", "long", "--tokens-per-minute", "5"));
    const ask = (content: string) => client.chat.completions.create({ model: "small", messages: user(content) });
    // The model says that it used 5.
    await ask("the first");
    await expect(ask("the second")).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    const stream = client.chat.completions.create({
      ...{ model: "small", messages: user("the third"), stream: true },
    });
    await expect(stream).rejects.toMatchObject({ status: 429 });
    expect((await client.models.list()).data.length).toBeGreaterThan(0);
  });
});

describe("the end of a key", () => {
  test("revoked, it is refused from the moment that its record is read; others stay", async () => {
    const [one, two] = [await create("-t", "left"), await create("-t", "left")];
    expect(await keys("revoke", idOf(one))).toBe(`revoked ${idOf(one)}`);
    await until(one, 401);
    await expect(clientOf(one).models.list()).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    expect(await statusOf(two)).toBe(200);
    expect(await keys("list", "-t", "left")).toContain("revoked");
    const unknown = await runCommand(folder, ["keys", "revoke", idOf(two), "prk-unknown"]);
    expect(unknown).toMatchObject({ code: 1, note: expect.stringContaining("there is no key prk-unknown") });
    expect(await statusOf(two)).toBe(200);
  });

  test("ends the tokens of the answers that it was given, and of no others", async () => {
    const [one, two] = [await create("-t", "left"), await create("-t", "left")];
    const tokenOf = async (key: string) => {
      const body = { model: "small", messages: user("judged by its reader") };
      const { data, response } = await clientOf(key).chat.completions.create(body).withResponse();
      const token = response.headers.get("x-precedent-feedback-token") ?? "";
      return () =>
        clientOf(token).post("/feedback", {
          body: { request_id: data.id, kind: "thumbs", value: 1 },
        }) as Promise<object>;
    };
    const [ofOne, ofTwo] = [await tokenOf(one), await tokenOf(two)];
    expect(await ofOne()).toMatchObject({ object: "feedback" });
    await keys("revoke", idOf(one));
    await until(one, 401);
    await expect(ofOne()).rejects.toMatchObject({ status: 401, code: "invalid_feedback_token" });
    expect(await ofTwo()).toMatchObject({ object: "feedback" });
  });

  test("rotated, one that may do the same follows it, at once or after a while", async () => {
    const old = await create("-t", "turning", "-a", "small");
    const next = await keys("rotate", idOf(old));
    await until(next, 200);
    await until(old, 401);
    const ids: string[] = [];
    for await (const { id } of clientOf(next).models.list()) ids.push(id);
    expect(ids).toEqual(["auto", "small"]);
    const last = await keys("rotate", idOf(next), "--overlap", "60m");
    await until(last, 200);
    expect(await statusOf(next)).toBe(200);
    const again = await runCommand(folder, ["keys", "rotate", idOf(old)]);
    expect(again).toMatchObject({ code: 1, note: expect.stringContaining("is revoked") });
  });

  test("with every key revoked this machine needs one still, and a new one serves", async () => {
    const all = (await keys("list", "--json")).split("\n").map((line) => (JSON.parse(line) as { id: string }).id);
    const probe = await create("-t", "probe");
    await keys("revoke", ...all, idOf(probe));
    await until(probe, 401);
    expect((await fetch(`${baseURL}/models`)).status).toBe(401);
    await create("-t", "anew");
  });
});

describe("while ClickHouse is away, or takes connections alone", () => {
  const hanging = createServer(() => undefined);
  beforeAll(async () => {
    hanging.listen(0, "127.0.0.1");
    await once(hanging, "listening");
  });
  afterAll(() => hanging.close());

  test.each(["away", "hanging"])("%s: keys are made, listed and revoked, requests asked and rated", async (how) => {
    const { port } = hanging.address() as AddressInfo;
    const clickhouse = { ...system.config.clickhouse, url: `http://127.0.0.1:${how === "away" ? 1 : port}` };
    await writeFile(join(folder, `${how}.yaml`), JSON.stringify({ ...system.config, clickhouse }));
    const run = async (...argv: string[]): Promise<string> => {
      const { code, out, note } = await runCommand(folder, [...argv, "--config", `${how}.yaml`]);
      expect(code, note).toBe(0);
      return out.trim();
    };
    const key = await run("keys", "create", "-t", how);
    await until(key, 200);
    if (how === "away") expect(await run("keys", "list", "-t", how)).toMatch(/valid/);
    await run("keys", "revoke", idOf(key));
    await until(key, 401);
    const { response } = JSON.parse(await run("ask", "who is there?", "-a", "small", "--json")) as Answered;
    expect(response.status).toBe("ok");
    expect(await run("feedback", response.requestId, "up")).toMatch(/^[\w-]+$/);
  });
});

test("what can't be granted is refused before anything is made", async () => {
  const before = await keys("list", "--json");
  const wrong = await runCommand(folder, ["keys", "create", "-a", "none"]);
  expect(wrong).toMatchObject({ code: 2, note: expect.stringContaining("--arm none: there are small, large") });
  expect(await keys("list", "--json")).toBe(before);
});
