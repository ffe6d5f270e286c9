// Traces on the real stack: one trace from the client's traceparent over gateway, plan, generate
// and record, into the call of the model; inline arms, cache hits, failures, direct producers; and
// a collector that is away. What the calls took is among the metrics.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { startCollector, type CollectedSpan, type Collector } from "../support/collector.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

let collector: Collector;
let model: TestModel;
let system: TestSystem;

beforeAll(async () => {
  collector = await startCollector();
  model = await startModel();
  const endpoint = { type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, cost: 1 };
  system = await startSystem(
    {
      arms: [
        { ...endpoint, name: "queued", dispatch: "queued", prices: { prompt: 1, completion: 2 } },
        { ...endpoint, name: "inline", dispatch: "inline" },
      ],
      cache: { enabled: true },
      record: { batchMs: 200 },
      tracing: { endpoint: collector.endpoint },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
});
afterAll(async () => {
  await system.stop();
  await model.stop();
  await collector.stop();
});

const newTrace = () => {
  const traceId = randomBytes(16).toString("hex");
  const parentId = randomBytes(8).toString("hex");
  return { traceId, parentId, traceparent: `00-${traceId}-${parentId}-00` };
};

const post = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${system.stages.baseUrl ?? ""}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const chat = (arm: string, content: string) => ({ model: arm, messages: [{ role: "user", content }] });

/** The trace once its records are stored: record's spans end last. */
const traceOf = (traceId: string, stored: readonly string[]): Promise<readonly CollectedSpan[]> =>
  eventually(`the trace ${traceId} with ${stored.join()}`, () => {
    const spans = collector.spans(traceId);
    const seen = recorded(spans);
    return Promise.resolve(stored.every((topic) => seen.includes(topic)) ? spans : undefined);
  });

const topicOf = (span: CollectedSpan): string =>
  (span.attributes["messaging.destination.name"] as string).slice(system.config.kafka.prefix.length);
const recorded = (spans: readonly CollectedSpan[]): string[] =>
  spans.filter(({ attributes }) => attributes["precedent.stage"] === "record").map(topicOf);
const one = (spans: readonly CollectedSpan[], is: (span: CollectedSpan) => boolean): CollectedSpan => {
  const found = spans.filter(is);
  expect(found).toHaveLength(1);
  return found[0]!;
};
const stage = (spans: readonly CollectedSpan[], name: string): CollectedSpan =>
  one(spans, ({ attributes }) => attributes["precedent.stage"] === name);
const call = (spans: readonly CollectedSpan[]): CollectedSpan => one(spans, ({ kind }) => kind === "client");

describe("a request through the gateway", () => {
  test("is one trace below the client's span, linked from stage to stage into the model's call", async () => {
    const { traceId, parentId, traceparent } = newTrace();
    const response = await post(chat("queued", "trace this secret question"), { traceparent });
    expect(response.status).toBe(200);
    const spans = await traceOf(traceId, ["requests", "decisions", "responses"]);
    const rows = await system.session.clickhouse.query(
      "SELECT question FROM requests FINAL WHERE trace_id = {traceId:String}",
      { traceId },
    );
    expect(rows).toEqual([{ question: "trace this secret question" }]);

    const server = one(spans, ({ kind }) => kind === "server");
    expect(server).toMatchObject({ parentId, name: "POST /v1/chat/completions", isError: false });
    expect(server.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.response.status_code": 200,
      "precedent.arm": "queued",
      "precedent.request.id": response.headers.get("x-precedent-request-id"),
    });
    const sent = one(spans, ({ kind }) => kind === "producer");
    expect(sent.parentId).toBe(server.spanId);
    expect(sent.attributes).toMatchObject({ "messaging.system": "kafka", "messaging.operation.type": "send" });
    const plan = stage(spans, "plan");
    expect(plan).toMatchObject({ parentId: sent.spanId, kind: "consumer", isError: false });
    expect(plan.attributes).toMatchObject({
      "messaging.operation.type": "process",
      "messaging.consumer.group.name": `${system.config.kafka.prefix}plan`,
      "precedent.arm": "queued",
      "precedent.outcome": "handed_over",
      "precedent.propensity": 1,
    });
    const inside = spans.filter((span) => span.parentId === plan.spanId && span.kind === "internal");
    expect(inside.map(({ name }) => name)).toEqual(expect.arrayContaining(["validate", "embed", "select", "route"]));
    const generate = stage(spans, "generate.queued");
    expect(generate.parentId).toBe(plan.spanId);
    expect(generate.attributes).toMatchObject({ "precedent.outcome": "ok", "precedent.source": "generated" });

    const chatted = call(spans);
    expect(chatted).toMatchObject({ parentId: generate.spanId, name: "chat mock-1", isError: false });
    expect(chatted.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "mock-1",
      "gen_ai.response.model": "mock-1",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 2,
      "precedent.arm": "queued",
    });
    // The endpoint belongs to the trace, too; the client's own flag decides nothing.
    expect(model.headers("trace this secret question")?.["traceparent"]).toBe(`00-${traceId}-${chatted.spanId}-01`);
    const stored = Object.fromEntries(
      spans
        .filter(({ attributes }) => attributes["precedent.stage"] === "record")
        .map((span) => [topicOf(span), span.parentId]),
    );
    expect(stored).toMatchObject({ requests: sent.spanId, decisions: plan.spanId, responses: generate.spanId });
    for (const span of spans) expect(span.endedAt).toBeGreaterThanOrEqual(span.startedAt);
    expect(collector.text()).not.toContain("secret question");
  });

  test("streamed, to an inline arm: only plan calls the model", async () => {
    const { traceId, traceparent } = newTrace();
    const response = await post({ ...chat("inline", "an inline stream"), stream: true }, { traceparent });
    await response.text();
    const spans = await traceOf(traceId, ["decisions", "responses"]);
    const plan = stage(spans, "plan");
    expect(plan.attributes).toMatchObject({ "precedent.outcome": "ok", "precedent.arm": "inline" });
    expect(call(spans)).toMatchObject({ parentId: plan.spanId });
    expect(call(spans).attributes["gen_ai.response.time_to_first_chunk"]).toBeGreaterThan(0);
    expect(spans.filter(({ attributes }) => String(attributes["precedent.stage"]).startsWith("generate"))).toEqual([]);
    expect(one(spans, ({ kind }) => kind === "server").attributes["http.response.status_code"]).toBe(200);
  });

  test("that repeats another is answered by plan from the cache, without a call", async () => {
    const first = newTrace();
    await post(chat("queued", "kept for a repeat"), { traceparent: first.traceparent });
    await traceOf(first.traceId, ["responses"]);
    const { traceId, traceparent } = newTrace();
    await eventually("a hit", async () => {
      const response = await post(chat("queued", "kept for a repeat"), { traceparent });
      return response.headers.get("x-precedent-source") === "cache" ? true : undefined;
    });
    const spans = await traceOf(traceId, ["responses"]);
    const hit = spans.find(({ attributes }) => attributes["precedent.cached"] === true);
    expect(hit?.attributes).toMatchObject({ "precedent.stage": "plan", "precedent.source": "cache" });
    expect(spans.filter(({ kind, parentId }) => kind === "client" && parentId === hit?.spanId)).toEqual([]);
  });

  test("whose model fails says so, by its code", async () => {
    const { traceId, traceparent } = newTrace();
    const body = { ...chat("queued", "fail"), precedent: { allow: { arms: ["queued"] } } };
    expect((await post(body, { traceparent })).status).toBe(502);
    const spans = await traceOf(traceId, ["responses"]);
    expect(call(spans)).toMatchObject({ isError: true });
    expect(call(spans).attributes["error.type"]).toBe("endpoint_unavailable");
    expect(stage(spans, "generate.queued")).toMatchObject({ isError: true });
    expect(stage(spans, "generate.queued").attributes).toMatchObject({ "precedent.outcome": "failed" });
    expect(one(spans, ({ kind }) => kind === "server")).toMatchObject({ isError: true });
  });

  test("with a malformed traceparent begins a trace of its own", async () => {
    const before = new Set(collector.spans().map(({ traceId }) => traceId));
    const traceId = "f".repeat(32);
    const response = await post(chat("inline", "malformed"), { traceparent: `00-${traceId}-${"0".repeat(16)}-01` });
    expect(response.status).toBe(200);
    const id = response.headers.get("x-precedent-request-id");
    const root = await eventually("a trace of its own", () =>
      Promise.resolve(
        collector
          .spans()
          .find(({ kind, attributes }) => kind === "server" && attributes["precedent.request.id"] === id),
      ),
    );
    expect(root.parentId).toBe("");
    expect(before.has(root.traceId)).toBe(false);
    expect(collector.spans(traceId)).toEqual([]);
  });
});

test("a producer of the topic carries its trace in a record's header", async () => {
  const { traceId, parentId, traceparent } = newTrace();
  const { kafka, codec, topic } = system.session;
  const request = requestOf("produced directly", { allow: { ...requestOf("").allow, arms: ["inline"] } });
  const producer = kafka.plainProducer();
  const answered = system.response(request.id);
  await producer.send([
    { topic: topic("requests"), key: request.id, value: codec.encode("requests", request), headers: { traceparent } },
  ]);
  await producer.close();
  expect((await answered).status).toBe("ok");
  const spans = await traceOf(traceId, ["responses"]);
  expect(stage(spans, "plan").parentId).toBe(parentId);
});

test("calls are counted by arm: tokens, cost, time to the first token", async () => {
  const text = await system.session.metrics.metrics();
  const value = (line: string): number =>
    Number(
      text
        .split("\n")
        .find((one) => one.startsWith(`${line} `))
        ?.slice(line.length + 1),
    );
  expect(value('precedent_cost_total{arm="queued"}')).toBeGreaterThan(0);
  expect(value('precedent_tokens_total{arm="inline",kind="completion"}')).toBeGreaterThan(0);
  expect(value('precedent_first_token_seconds_count{arm="inline"}')).toBeGreaterThan(0);
});

test("a collector that is away loses spans, and nothing of the answers", async () => {
  collector.answerWith(400);
  const calls = collector.calls();
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const response = await post(chat(index % 2 === 0 ? "queued" : "inline", `unseen ${index}`));
      return { status: response.status, text: await response.text() };
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  answers.forEach(({ text }, index) => expect(text).toContain(`unseen ${index}`));
  await eventually("a refused export", () => Promise.resolve(collector.calls() > calls ? true : undefined));
  const lost = await eventually(
    "lost spans, counted",
    async () =>
      /precedent_trace_spans_total\{result="lost"\} ([1-9]\d*)/.exec(await system.session.metrics.metrics())?.[1],
  );
  expect(Number(lost)).toBeGreaterThan(0);

  collector.answerWith(200);
  const { traceId, traceparent } = newTrace();
  expect((await post(chat("inline", "seen again"), { traceparent })).status).toBe(200);
  expect(stage(await traceOf(traceId, ["responses"]), "plan").isError).toBe(false);
});
