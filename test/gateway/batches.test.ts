// Files and batches by OpenAI's own client: uploaded, answered, read back, listed, cancelled; what
// is wrong with a line is its own error; tenants see their own.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKey } from "../../gateway/keys/key.ts";
import { stageNames } from "../../pipelines/up.ts";
import { startBatchProvider, type BatchProvider } from "../support/batch-provider.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

let folder: string;
let model: TestModel;
let provider: BatchProvider;
let system: TestSystem;
let client: OpenAI;

const recorded = Array.from({ length: 20 }, (_, i) => ({ request: `question ${i}`, response: `answer ${i}` }));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-batches-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, recorded.map((one) => JSON.stringify(one)).join("\n"));
  [model, provider] = await Promise.all([startModel(), startBatchProvider()]);
  const priced = { type: "openai", baseUrl: provider.baseUrl, prices: { prompt: 10, completion: 20 }, retries: 0 };
  system = await startSystem(
    {
      arms: [
        { name: "log", type: "recorded", dispatch: "inline", file, cost: 0.1 },
        { name: "mock", type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, cost: 1, concurrency: 64 },
        { ...priced, name: "live", model: "p-1", stream: false, cost: 1 },
        { ...priced, name: "night", model: "p-1", cost: 0.5, batch: "provider", batchCollectMs: 500 },
      ],
      batch: { costWeight: 0.75 },
      cache: { enabled: true },
      gateway: { maxBodyBytes: 8_192 },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  client = clientOf("none");
}, 240_000);
afterAll(async () => {
  await system.stop();
  await Promise.all([model.stop(), provider.stop()]);
  await rm(folder, { recursive: true, force: true });
});

const clientOf = (apiKey: string) => new OpenAI({ baseURL: system.stages.baseUrl ?? "", apiKey, maxRetries: 0 });
const endpoint = "/v1/chat/completions" as const;
const chatLine = (id: string, content: string, more: object = {}, url: string = endpoint) => ({
  ...{ custom_id: id, method: "POST", url },
  body: { model: "log", messages: [{ role: "user", content }], ...more },
});
const upload = async (lines: readonly (object | string)[], by = client) => {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  return by.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "requests.jsonl") });
};
const begin = async (lines: readonly (object | string)[], more: Partial<OpenAI.BatchCreateParams> = {}, by = client) =>
  by.batches.create({
    ...{ input_file_id: (await upload(lines, by)).id, endpoint, completion_window: "24h" },
    ...more,
  });
const ended = (id: string, by = client) =>
  system.eventually(`the end of ${id}`, async () => {
    const batch = await by.batches.retrieve(id);
    return ["completed", "failed", "expired", "cancelled"].includes(batch.status) ? batch : undefined;
  });
interface Line {
  id: string;
  custom_id: string | null;
  response: { status_code: number; request_id: string; body: Record<string, unknown> } | null;
  error: { code: string; message: string } | null;
}
const contentOf = async (id: string | null | undefined, by = client): Promise<Line[]> => {
  const text = await (await by.files.content(id ?? "none")).text();
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
};

describe("a batch", () => {
  test("is answered line by line; input and results are files, progress is counted", async () => {
    const lines = recorded.map(({ request }, i) => chatLine(`line-${i}`, request));
    const file = await upload(lines);
    expect(file).toMatchObject({ object: "file", purpose: "batch", filename: "requests.jsonl", status: "processed" });
    expect(await (await client.files.content(file.id)).text()).toBe(
      lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    const begun = await client.batches.create({
      ...{ input_file_id: file.id, endpoint, completion_window: "24h", metadata: { job: "nightly" } },
    });
    expect(begun).toMatchObject({ object: "batch", endpoint, input_file_id: file.id, metadata: { job: "nightly" } });
    expect(["validating", "in_progress"]).toContain(begun.status);
    const batch = await ended(begun.id);
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 20, completed: 20, failed: 0 } });
    expect(batch.error_file_id).toBeNull();

    const output = await contentOf(batch.output_file_id);
    expect(output.map((line) => line.custom_id)).toEqual(lines.map((line) => line.custom_id));
    for (const [i, { id, response, error }] of output.entries()) {
      expect(id).toMatch(/^batch_req_/);
      expect(error).toBeNull();
      expect(response).toMatchObject({ status_code: 200, request_id: expect.stringContaining(batch.id) as string });
      const completion = response?.body as unknown as OpenAI.ChatCompletion;
      expect(completion).toMatchObject({ object: "chat.completion", model: "log" });
      expect(completion.choices[0]).toMatchObject({
        ...{ finish_reason: "stop", message: { role: "assistant", content: `answer ${i}` } },
      });
    }
    const result = await client.files.retrieve(batch.output_file_id ?? "");
    const bytes = (await (await client.files.content(result.id)).arrayBuffer()).byteLength;
    expect(result).toMatchObject({ purpose: "batch_output", bytes });
    const [row] = await system.session.clickhouse.query<{ weights: number[]; lines: number }>(
      "SELECT groupUniqArray(cost_weight) AS weights, count() AS lines FROM requests FINAL WHERE startsWith(request_id, {id:String})",
      { id: batch.id },
    );
    expect(row).toMatchObject({ weights: [0.75] });
    expect(Number(row?.lines)).toBe(20);
    const metric = async (name: string) => (await system.session.metrics.getSingleMetric(name)?.get())?.values ?? [];
    expect(await metric("precedent_batch_lines_total")).toContainEqual({
      ...{ value: 20, labels: { outcome: "completed" } },
    });
    expect(await metric("precedent_batch_lines_waiting")).toMatchObject([{ value: 0 }]);
    expect((await metric("precedent_batches")).map(({ value }) => value)).toEqual([0, 0, 0, 0]);
  });

  test("what repeats is answered by the response cache, for nothing", async () => {
    const [{ request } = { request: "" }] = recorded;
    const ask = (id: string) => chatLine(id, request, { temperature: 0 });
    await ended((await begin([ask("first")])).id);
    const batch = await ended((await begin([ask("second"), ask("third")])).id);
    const lines = await contentOf(batch.output_file_id);
    const own = lines.map(({ response }) => response?.body.precedent as { source: string; cost: number });
    expect(own).toMatchObject([
      { source: "cache", cost: 0 },
      { source: "cache", cost: 0 },
    ]);
  });

  test("what is wrong with a line is its own error", async () => {
    const batch = await ended(
      (
        await begin([
          chatLine("good", "question 1"),
          chatLine("unknown", "this is not recorded"),
          chatLine("model", "question 1", { model: "nowhere" }),
          chatLine("stream", "question 1", { stream: true }),
          chatLine("several", "question 1", { n: 2 }),
          chatLine("elsewhere", "question 1", {}, "/v1/embeddings"),
          chatLine("parameter", "question 1", { messages: "no list" }),
          "",
          chatLine("too long", "x".repeat(9_000)),
        ])
      ).id,
    );
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 8, completed: 1, failed: 7 } });
    expect((await contentOf(batch.output_file_id)).map((line) => line.custom_id)).toEqual(["good"]);
    const errors = await contentOf(batch.error_file_id);
    const found = errors.map(({ custom_id: id, response }) => {
      const { code } = response?.body.error as { code: string };
      return [id, response?.status_code, code];
    });
    expect(found).toEqual([
      ["unknown", 502, "not_recorded"],
      ["model", 404, "model_not_found"],
      ["stream", 400, "unsupported_parameter"],
      ["several", 400, "unsupported_parameter"],
      ["elsewhere", 400, "invalid_url"],
      ["parameter", 400, "invalid_value"],
      ["too long", 413, "body_too_large"],
    ]);
  });

  test.each([
    ["/v1/completions", { prompt: "question 2" }, "text_completion"],
    ["/v1/responses", { input: "question 2" }, "response"],
  ] as const)("is for %s, too", async (url, body, object) => {
    const line = { custom_id: "a", method: "POST", url, body: { model: "log", ...body } };
    const batch = await ended((await begin([line], { endpoint: url })).id);
    const [answer] = await contentOf(batch.output_file_id);
    expect(answer?.response?.body).toMatchObject({ object });
    expect(JSON.stringify(answer?.response?.body)).toContain("answer 2");
  });

  test("of a file with broken lines fails, and says which", async () => {
    const batch = await begin([
      chatLine("a", "question 1"),
      "{ broken",
      chatLine("a", "question 2"),
      { custom_id: "b", method: "GET", url: endpoint, body: {} },
    ]);
    expect(batch).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null });
    expect(batch.errors?.data?.map(({ line, code }) => [line, code])).toEqual([
      [2, "invalid_json_line"],
      [3, "duplicate_custom_id"],
      [4, "invalid_method"],
    ]);
  });

  test("is cancelled: what is answered stays, the rest is not asked", async () => {
    const lines = ["one", "two", ...Array.from({ length: 12 }, (_, i) => `hang ${i}`)].map((text) =>
      chatLine(text, text, { model: "mock" }),
    );
    const { id } = await begin(lines);
    await system.eventually("two answers", async () => {
      const { request_counts: counts } = await client.batches.retrieve(id);
      return counts?.completed === 2 ? true : undefined;
    });
    expect((await client.batches.cancel(id)).status).toBe("cancelling");
    const batch = await ended(id);
    expect(batch).toMatchObject({ status: "cancelled", request_counts: { total: 14, completed: 2, failed: 0 } });
    expect((await contentOf(batch.output_file_id)).map((line) => line.custom_id)).toEqual(["one", "two"]);
    const errors = await contentOf(batch.error_file_id);
    expect(errors).toHaveLength(12);
    expect(new Set(errors.map(({ response, error }) => `${response === null} ${error?.code}`))).toEqual(
      new Set(["true batch_cancelled"]),
    );
    await expect(client.batches.cancel(id)).rejects.toMatchObject({ status: 409 });
  });
});

describe("an arm of provider batches", () => {
  const night = { model: "night" };
  const costsOf = (batchId: string) =>
    system.session.clickhouse.query<{ arm: string; cost: number; failed: string[] }>(
      "SELECT arm, cost, failed_arms.arm AS failed FROM responses FINAL WHERE startsWith(request_id, {id:String}) AND NOT duplicate ORDER BY request_id",
      { id: batchId },
    );

  test("answers lines through the provider's batches, at half the price; another arm what these do not", async () => {
    const made = provider.submitted().length;
    const fallback = { precedent: { allow: { arms: ["night", "live"], cost_weight: 100 } }, model: "auto" };
    const lines = [
      ...Array.from({ length: 30 }, (_, i) => chatLine(`line-${i}`, `question ${i}`, night)),
      chatLine("refused", "refuse this", night),
    ];
    const batch = await ended((await begin(lines)).id);
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 31, completed: 30, failed: 1 } });
    const answers = (await contentOf(batch.output_file_id)).map(({ custom_id: id, response }) => {
      const { choices } = response?.body as unknown as OpenAI.ChatCompletion;
      return `${id} ${choices[0]?.message.content}`;
    });
    expect(answers).toEqual(Array.from({ length: 30 }, (_, i) => `line-${i} batch: question ${i}`));
    const [error] = await contentOf(batch.error_file_id);
    expect(error?.response).toMatchObject({ status_code: 400, body: { error: { code: "request_rejected" } } });
    expect(provider.submitted().slice(made).flat()).toHaveLength(31);
    const half = (1_000 * 10 + 100 * 20) / 2 / 1_000_000;
    expect((await costsOf(batch.id)).slice(0, 30)).toEqual(
      Array.from({ length: 30 }, () => ({ arm: "night", cost: half, failed: [] })),
    );

    provider.fail("token_limit_exceeded");
    const other = await ended((await begin([chatLine("a", "fails", { ...fallback, ...night })])).id);
    expect(other).toMatchObject({ request_counts: { completed: 0, failed: 1 } });
    // Half price is cheaper: with this weight of cost the router draws night for most.
    const some = Array.from({ length: 8 }, (_, i) => chatLine(`${i}`, `fails ${i}`, fallback));
    const mixed = await ended((await begin(some)).id);
    provider.fail(undefined);
    expect(mixed).toMatchObject({ status: "completed", request_counts: { completed: 8 } });
    const costs = await costsOf(mixed.id);
    expect(new Set(costs.map(({ arm }) => arm))).toEqual(new Set(["live"]));
    expect(costs.some(({ failed }) => failed.includes("night"))).toBe(true);
    expect(costs.every(({ cost }) => cost === 2 * half)).toBe(true);
  });

  test("gets no live request, and lines with a deadline of their own", async () => {
    const messages = [{ role: "user" as const, content: "question 1" }];
    await expect(client.chat.completions.create({ model: "night", messages })).rejects.toMatchObject({
      ...{ status: 400, code: "no_arm" },
    });
    const line = chatLine("a", "soon", { ...night, precedent: { allow: { deadline_ms: 60_000 } } });
    const batch = await ended((await begin([line])).id);
    expect(batch.request_counts).toMatchObject({ completed: 0, failed: 1 });
  });

  test("is cancelled there with its batch", async () => {
    provider.hold(true);
    const made = provider.submitted().length;
    const { id } = await begin(Array.from({ length: 5 }, (_, i) => chatLine(`${i}`, `cancel ${i}`, night)));
    await system.eventually("the provider's batch", () =>
      Promise.resolve(provider.submitted().slice(made).flat().length === 5 ? true : undefined),
    );
    await client.batches.cancel(id);
    const batch = await ended(id);
    expect(batch).toMatchObject({ status: "cancelled", request_counts: { total: 5, completed: 0 } });
    await system.eventually("its end there", () =>
      Promise.resolve(provider.statuses().at(-1) === "cancelled" ? true : undefined),
    );
    provider.hold(false);
    expect(new Set((await contentOf(batch.error_file_id)).map(({ error }) => error?.code))).toEqual(
      new Set(["batch_cancelled"]),
    );
  });
});

describe("files", () => {
  test("are listed in pages, and deleted", async () => {
    const made: string[] = [];
    for (let i = 0; i < 3; i++) made.push((await upload([chatLine("a", "question 1")])).id);
    const all = [];
    for await (const file of client.files.list({ purpose: "batch", limit: 2 })) all.push(file.id);
    expect(all).toEqual(expect.arrayContaining(made));
    expect(new Set(all).size).toBe(all.length);
    // Those of the same second, too.
    expect(all.filter((id) => made.includes(id))).toEqual([...made].reverse());
    const upwards = (await client.files.list({ purpose: "batch", order: "asc" })).data.map(({ id }) => id);
    expect(upwards).toEqual([...all].reverse());
    const [first = ""] = made;
    expect(await client.files.delete(first)).toMatchObject({ id: first, deleted: true });
    await expect(client.files.retrieve(first)).rejects.toMatchObject({ status: 404 });
    await expect(client.files.content(first)).rejects.toMatchObject({ status: 404 });
    await expect(
      client.batches.create({ input_file_id: first, endpoint, completion_window: "24h" }),
    ).rejects.toMatchObject({ status: 404, code: "file_not_found" });
    const batches = [];
    for await (const batch of client.batches.list({ limit: 2 })) batches.push(batch.id);
    expect(new Set(batches).size).toBe(batches.length);
    expect(batches.length).toBeGreaterThan(4);
  });

  test.each([
    ["of another purpose", "fine-tune", chatLine("a", "b"), { status: 400, param: "purpose" }],
    ["without lines", "batch", "\n\n", { status: 400, code: "empty_file" }],
  ] as const)("%s are refused", async (_name, purpose, content, error) => {
    const file = await toFile(Buffer.from(typeof content === "string" ? content : JSON.stringify(content)), "a.jsonl");
    await expect(client.files.create({ purpose, file })).rejects.toMatchObject(error);
  });

  test("are kept for 30 days, and refused where they are to be kept for another time", async () => {
    const create = async (seconds: number) =>
      client.files.create({
        ...{ purpose: "batch", expires_after: { anchor: "created_at", seconds } },
        file: await toFile(Buffer.from(JSON.stringify(chatLine("a", "b"))), "a.jsonl"),
      });
    expect(await create(2_592_000)).toMatchObject({ object: "file" });
    await expect(create(3_600)).rejects.toMatchObject({ status: 400, param: "expires_after" });
  });

  test("that are no form are refused", async () => {
    const url = `${system.stages.baseUrl}/files`;
    const authorization = "Bearer any";
    const forms = [
      { headers: { authorization, "content-type": "application/json" }, body: "{}" },
      { headers: { authorization, "content-type": "multipart/form-data" }, body: "x" },
      { headers: { authorization, "content-type": "multipart/form-data; boundary=a" }, body: "--a\r\nbroken" },
      { headers: { authorization }, body: new FormData() },
    ];
    for (const form of forms) {
      const answered = await fetch(url, { method: "POST", ...form });
      expect([
        answered.status,
        typeof ((await answered.json()) as { error: { message: string } }).error.message,
      ]).toEqual([400, "string"]);
    }
  });
});

// Last: from the first key on every request needs one.
test("a tenant sees its own files and batches, and its key's limits apply", async () => {
  const keyOf = async (tenant: string, more: object = {}) => {
    const { id, text, hash } = newKey();
    const { codec, topic, kafka } = system.session;
    const producer = kafka.plainProducer();
    const key = {
      ...{ id, tenant, admin: false, hash, label: "test", arms: null, domains: null, account: null },
      ...{ requestsPerMinute: null, tokensPerMinute: null, spendLimitPerDay: null, spendLimitPerMonth: null },
      ...{ createdAt: Date.now(), expiresAt: null, revokedAt: null, ...more },
    };
    await producer.send([{ topic: topic("keys"), key: id, value: codec.encode("keys", key) }]);
    await producer.close();
    const by = clientOf(text);
    await system.eventually("the key", () => by.models.list().then(() => true as const));
    return by;
  };
  const [acme, other] = [await keyOf("acme", { arms: ["mock"] }), await keyOf("other")];
  const batch = await ended(
    (await begin([chatLine("a", "question 1"), chatLine("b", "b", { model: "mock" })], {}, acme)).id,
    acme,
  );
  expect(batch.request_counts).toMatchObject({ completed: 1, failed: 1 });
  const [error] = await contentOf(batch.error_file_id, acme);
  expect(error?.response).toMatchObject({ status_code: 403, body: { error: { code: "arm_not_allowed" } } });
  for (const of of [batch.input_file_id, batch.output_file_id ?? "", batch.error_file_id ?? ""]) {
    await expect(other.files.retrieve(of)).rejects.toMatchObject({ status: 404 });
    await expect(other.files.content(of)).rejects.toMatchObject({ status: 404 });
  }
  await expect(other.batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 });
  await expect(other.batches.cancel(batch.id)).rejects.toMatchObject({ status: 404 });
  await expect(
    other.batches.create({ input_file_id: batch.input_file_id, endpoint, completion_window: "24h" }),
  ).rejects.toMatchObject({ status: 404 });
  expect((await other.batches.list()).data).toEqual([]);
  expect((await other.files.list()).data).toEqual([]);
});
