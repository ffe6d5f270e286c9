// Requests that are taken back, on the real stack: a client that closes its connection, or says so,
// ends the call of its model (the endpoint sees its connection close), queued and inline, streamed
// and not; the response is failed, cancelled, and recorded. A cancel that comes late, for an
// unknown id or from another tenant changes nothing, and a request with an Idempotency-Key waits
// for its retry.
import { existsSync } from "node:fs";
import OpenAI from "openai";
import { v7 as uuid } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { modelFile } from "../../config/models.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";

const absent = [modelFile(), llamaAddonFile].filter((file) => !existsSync(file));
const arms = ["mock", "inline"];
let model: TestModel;
let system: TestSystem;
let client: OpenAI;

beforeAll(async () => {
  model = await startModel();
  const mock = { type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 2, cost: 1 };
  system = await startSystem(
    {
      arms: [
        { name: "mock", ...mock, dispatch: "queued" },
        { name: "inline", ...mock, dispatch: "inline" },
        { name: "narrow", ...mock, concurrency: 1, dispatch: "queued" },
        ...(absent.length > 0 ? [] : [{ name: "llama", type: "llama", contextTokens: 2_048, maxTokens: 1_900 }]),
      ],
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  client = new OpenAI({ baseURL: system.stages.baseUrl ?? "", apiKey: "none", maxRetries: 0 });
});
afterAll(async () => {
  await system.stop();
  await model.stop();
});

const user = (content: string) => [{ role: "user" as const, content }];
const callOf = (question: string) =>
  model.received().filter(({ messages }) => (messages as { content: string }[])[0]?.content === question);
const called = (question: string, times = 1) =>
  system.eventually(`a call for ${question}`, () =>
    Promise.resolve(callOf(question).length >= times ? true : undefined),
  );
const isClosed = (question: string) =>
  system.eventually(`the end of the call for ${question}`, () =>
    Promise.resolve(model.closed().includes(question) ? true : undefined),
  );
/** Asks over HTTP and goes when the model is called; resolves to the request's id. */
async function askAndGo(arm: string, question: string, stream = false, headers: Record<string, string> = {}) {
  const before = new Set(system.responses.keys());
  const controller = new AbortController();
  const asked = client.chat.completions.create(
    { model: arm, messages: user(question), stream },
    { signal: controller.signal, headers },
  );
  const gone = asked.catch((error: unknown) => error);
  await called(question);
  controller.abort();
  expect(await gone).toBeInstanceOf(OpenAI.APIUserAbortError);
  return before;
}
const newResponse = (before: ReadonlySet<string>, arm: string) =>
  system.eventually("its response", () => {
    const fresh = [...system.responses].filter(([id]) => !before.has(id)).flatMap(([, those]) => those);
    return Promise.resolve(fresh.find((response) => response.arm === arm));
  });

describe("a client that closes its connection", () => {
  test.each(arms.flatMap((arm) => [false, true].map((stream) => [arm, stream] as const)))(
    "ends the call of the arm %s (stream: %s), and its request is failed, cancelled",
    async (arm, stream) => {
      const question = `hang ${arm} ${stream}`;
      const before = await askAndGo(arm, question, stream);
      await isClosed(question);
      const response = await newResponse(before, arm);
      expect(response).toMatchObject({ status: "failed", attempt: 1, arm, error: { code: "cancelled" } });
      // No retry of the arm, and no other arm in its place.
      expect(callOf(question)).toHaveLength(1);
      const row = await system.eventually("its row", async () => {
        const rows = await system.session.clickhouse.query<{ code: string }>(
          "SELECT error_code AS code FROM responses WHERE request_id = {id:String} AND status = 'failed'",
          { id: response.requestId },
        );
        return rows[0];
      });
      expect(row.code).toBe("cancelled");
    },
  );

  test("in the middle of a stream ends the call, too", async () => {
    const question = "stall one two three";
    const stream = await client.chat.completions.create({ model: "mock", messages: user(question), stream: true });
    for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? "") !== "") break;
    await isClosed(question);
  });

  test("while its request waits for its turn: the model is not called for it", async () => {
    const first = client.chat.completions.create({ model: "narrow", messages: user("hang first") });
    await called("hang first");
    const controller = new AbortController();
    const before = new Set(system.responses.keys());
    const second = client.chat.completions
      .create({ model: "narrow", messages: user("second in line") }, { signal: controller.signal })
      .withResponse();
    const gone = expect(second).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    setTimeout(() => controller.abort(), 500);
    await gone;
    expect(await newResponse(before, "narrow")).toMatchObject({
      status: "failed",
      attempt: 0,
      error: { code: "cancelled" },
    });
    expect(callOf("second in line")).toHaveLength(0);
    // The first was another's, and waits on.
    expect(model.closed()).not.toContain("hang first");
    void first.catch(() => undefined);
  });

  test("with an Idempotency-Key may come back: the call goes on, and the retry gets its answer", async () => {
    const words = Array.from({ length: 300 }, (_, i) => `word${i}`).join(" ");
    const question = `slowly ${words}`;
    const headers = { "Idempotency-Key": "again" };
    await askAndGo("mock", question, false, headers);
    const again = await client.chat.completions.create({ model: "mock", messages: user(question) }, { headers });
    expect(again.choices[0]?.message.content).toBe(question);
    expect(callOf(question)).toHaveLength(1);
  });
});

describe("a cancel by id", () => {
  const headers = { "content-type": "application/json" };
  const cancel = (id: string) =>
    fetch(`${system.stages.baseUrl ?? ""}/requests/${id}/cancel`, { method: "POST", headers }).then(
      ({ status }) => status,
    );
  const produce = (tenant: string, requestId: string) => {
    const { kafka, codec, topic } = system.session;
    const producer = kafka.plainProducer();
    const value = codec.encode("cancels", { tenant, requestId, createdAt: Date.now() });
    return producer.send([{ topic: topic("cancels"), key: requestId, value }]).finally(() => producer.close());
  };

  test("ends the call, and the waiting client gets an error", async () => {
    const asked = client.chat.completions
      .create({ model: "mock", messages: user("hang by id") }, { headers: { "Idempotency-Key": "by-id" } })
      .asResponse();
    const refused = asked.catch((error: unknown) => error);
    await called("hang by id");
    const { tenant, id } = await system.eventually("its row", async () => {
      const rows = await system.session.clickhouse.query<{ tenant: string; id: string }>(
        "SELECT tenant, request_id AS id FROM requests WHERE messages[1].content = 'hang by id'",
      );
      return rows[0];
    });
    // An id of another tenant, and an unknown one.
    await produce("other", id);
    expect(await cancel("unknown")).toBe(202);
    const before = await client.chat.completions.create({ model: "mock", messages: user("still here") });
    expect(before.choices[0]?.message.content).toBe("still here");
    expect(model.closed()).not.toContain("hang by id");
    expect(tenant).toBe("default");
    expect(await cancel(id)).toBe(202);
    await isClosed("hang by id");
    expect(await refused).toMatchObject({ status: 499, code: "cancelled" });
  });

  test("that comes late changes nothing: the answer stands, and is what a repeat gets", async () => {
    const headers = { "Idempotency-Key": "late" };
    const ask = () => client.chat.completions.create({ model: "mock", messages: user("answered") }, { headers });
    const { id } = await ask();
    expect(await cancel(id)).toBe(202);
    expect((await ask()).choices[0]?.message.content).toBe("answered");
  });

  test("that comes before its request is for no request", async () => {
    const id = uuid();
    expect(await cancel(id)).toBe(202);
    // Behind it, so that the process has read it when the request comes.
    const asked = requestOf("asked after it", {
      id,
      allow: { arms: ["mock"], maxCost: null, deadlineMs: null, costWeight: null },
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await system.produce([asked]);
    expect(await system.response(id)).toMatchObject({ status: "ok", text: "asked after it" });
  });
});

describe.skipIf(absent.length > 0)(`a llama arm${absent.length > 0 ? `: ${absent.join(", ")} absent` : ""}`, () => {
  test(
    "stops generating: its request is failed, cancelled, and the next one is answered",
    { timeout: 120_000 },
    async () => {
      const controller = new AbortController();
      const before = new Set(system.responses.keys());
      const stream = await client.chat.completions.create(
        {
          model: "llama",
          messages: user("Write a very long story about a ship and its crew, in many chapters."),
          stream: true,
          seed: 1,
        },
        { signal: controller.signal },
      );
      let read = "";
      for await (const chunk of stream) {
        read += chunk.choices[0]?.delta.content ?? "";
        if (read !== "") break;
      }
      expect(await newResponse(before, "llama")).toMatchObject({
        status: "failed",
        arm: "llama",
        error: { code: "cancelled" },
      });
      const next = await client.chat.completions.create({ model: "llama", messages: user("Say yes."), max_tokens: 2 });
      expect(next.choices[0]?.finish_reason).toBeDefined();
    },
  );
});
