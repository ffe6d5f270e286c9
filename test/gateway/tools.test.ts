// Requests beyond text, by OpenAI's own client through the real stack. Tools and their results,
// structured output, images, log probabilities and unknown parameters reach only the arm that
// declares them, unchanged. The endpoint's response comes back unchanged, streamed and not, and
// again for the same Idempotency-Key.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { startToolsModel, type ToolsModel } from "../support/tools-model.ts";

let folder: string;
let model: ToolsModel;
let system: TestSystem;
let client: OpenAI;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-tools-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "weather", response: "of the log" }));
  model = await startToolsModel();
  const openai = { type: "openai", baseUrl: model.baseUrl, model: "tools-1", retries: 0, cost: 1 };
  system = await startSystem(
    {
      arms: [
        // The cheapest by far, and the default: it would be asked if it could.
        { name: "recorded", type: "recorded", file, cost: 0 },
        { name: "tools", ...openai, vision: false, system: "Be brief.", dispatch: "queued" },
        { name: "whole", ...openai, vision: false, stream: false, dispatch: "inline" },
        { name: "eyes", ...openai, tools: false, parameters: false, dispatch: "queued" },
      ],
      routing: { defaultArm: "recorded" },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  client = new OpenAI({ baseURL: system.stages.baseUrl ?? "", apiKey: "none", maxRetries: 0 });
});
afterAll(async () => {
  await system.stop();
  await model.stop();
  await rm(folder, { recursive: true, force: true });
});

const user = (content: string) => [{ role: "user" as const, content }];
const parameters = { type: "object", properties: { city: { type: "string" } } };
const tool = (name: string): ChatCompletionTool => ({ type: "function", function: { name, parameters } });
const tools = [tool("weather"), tool("time")];
const calls = (city: string) =>
  ["weather", "time"].map((name, i) => ({
    ...{ id: `call_${i}`, type: "function" },
    function: { name, arguments: JSON.stringify({ city }) },
  }));

describe("tools", () => {
  test.each(["tools", "whole"])("of the arm %s: its calls come back, their results go on as they are", async (arm) => {
    const asked = { model: arm, tools, tool_choice: "auto" as const, parallel_tool_calls: true };
    const first = await client.chat.completions.create({ ...asked, messages: user(`Ulm by ${arm}`) });
    const [choice] = first.choices;
    expect(choice).toMatchObject({ finish_reason: "tool_calls", message: { content: null } });
    expect(choice?.message.tool_calls).toEqual(calls(`Ulm by ${arm}`));
    expect(model.received().at(-1)).toMatchObject({ tools, tool_choice: "auto", parallel_tool_calls: true });

    const messages: ChatCompletionMessageParam[] = [
      ...user(`Ulm by ${arm}`),
      ...(choice === undefined ? [] : [choice.message]),
      ...["call_0", "call_1"].map((id) => ({ role: "tool" as const, tool_call_id: id, content: `sunny ${id}` })),
    ];
    const second = await client.chat.completions.create({ ...asked, messages });
    expect(second.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "heard sunny call_1" } });
    const sent = model.received().at(-1)?.messages ?? [];
    expect(sent.at(-1)).toEqual({ role: "tool", tool_call_id: "call_1", content: "sunny call_1" });
    expect(sent.find((message) => message.role === "assistant")).toMatchObject({ tool_calls: calls(`Ulm by ${arm}`) });
    // The arm's own system prompt stands before messages that have none.
    expect(sent[0]).toEqual(arm === "tools" ? { role: "system", content: "Be brief." } : messages[0]);
  });

  test.each(["tools", "whole"])("are streamed by the arm %s as OpenAI's client reads them", async (arm) => {
    const stream = client.chat.completions.stream({ model: arm, tools, messages: user(`Rome by ${arm}`) });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    expect(
      choices[0]?.message.tool_calls?.map(({ id, type, ...call }) => ({
        ...{ id, type },
        function: "function" in call ? { name: call.function.name, arguments: call.function.arguments } : null,
      })),
    ).toEqual(calls(`Rome by ${arm}`));
  });

  test("come while the model still speaks, and each piece once", async () => {
    const city = "wait for Pisa";
    const stream = client.chat.completions.stream({ model: "tools", tools, messages: user(city) });
    const reported = [0, 1].map(() => ({ id: "", name: "", arguments: "" }));
    let whileHeld = 0;
    let isHeld = true;
    for await (const { choices } of stream)
      for (const { index, id, function: called } of choices[0]?.delta.tool_calls ?? []) {
        const call = reported[index];
        if (call === undefined) throw new Error(`there is no call ${index}`);
        call.id += id ?? "";
        call.name += called?.name ?? "";
        call.arguments += called?.arguments ?? "";
        if (!isHeld) continue;
        whileHeld++;
        if (reported[1]?.arguments.startsWith('{"city"') !== true) continue;
        isHeld = false;
        model.goOn();
      }
    const whole = JSON.stringify({ city });
    expect(reported).toEqual([
      { id: "call_0", name: "weather", arguments: whole },
      { id: "call_1", name: "time", arguments: whole },
    ]);
    expect([isHeld, whileHeld > 0]).toEqual([false, true]);
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.message.tool_calls).toMatchObject(calls(city));
  });

  test("are run by the client's own loop of calls and results", async () => {
    const runner = client.chat.completions.runTools({
      ...{ model: "auto", messages: user("Bonn") },
      tools: [
        {
          type: "function",
          function: {
            ...{ name: "weather", description: "", parameters, parse: JSON.parse },
            function: ({ city }: { city: string }) => `rain in ${city}`,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("heard rain in Bonn");
  });

  test("by a key that is sent again are the same calls, and the model is called once", async () => {
    const headers = { "Idempotency-Key": "tools" };
    const ask = (more: object = {}) =>
      client.chat.completions.create({ model: "tools", tools, messages: user("once"), ...more }, { headers });
    const first = await ask();
    const again = await ask();
    expect(again.choices).toEqual(first.choices);
    expect(again.choices[0]?.message.tool_calls).toEqual(calls("once"));
    await expect(ask({ tools: [tool("other")] })).rejects.toMatchObject({ status: 422, code: "id_reused" });
    expect(model.received().filter(({ messages }) => messages.at(-1)?.content === "once")).toHaveLength(1);
  });
});

describe("other parameters", () => {
  test("structured output is parsed by the client, streamed and not", async () => {
    const schema = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "a", strict: true, schema } };
    const asked = { model: "auto", messages: user("in a format"), response_format };
    const parsed = await client.chat.completions.parse(asked);
    expect(JSON.parse(parsed.choices[0]?.message.content ?? "")).toEqual({ answer: "in a format" });
    const streamed = await client.chat.completions.stream(asked).finalContent();
    expect(JSON.parse(streamed ?? "")).toEqual({ answer: "in a format" });
    expect(model.received().at(-1)).toMatchObject({ response_format });
  });

  test("log probabilities come back; unknown parameters are passed on", async () => {
    const asked = {
      model: "tools",
      messages: user("how sure"),
      logprobs: true,
      top_logprobs: 1,
      verbosity: "low" as const,
    };
    const { choices } = await client.chat.completions.create(asked);
    expect(choices[0]?.logprobs?.content?.[0]).toMatchObject({ token: "heard how sure", logprob: -0.5 });
    expect(model.received().at(-1)).toMatchObject({ top_logprobs: 1, verbosity: "low" });
  });

  test("an image goes to the arm that sees", async () => {
    const image = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
    const content = [{ type: "text" as const, text: "what is it" }, image];
    const { data, response } = await client.chat.completions
      .create({ model: "auto", messages: [{ role: "user", content }] })
      .withResponse();
    expect(response.headers.get("x-precedent-arm")).toBe("eyes");
    expect(data.choices[0]?.message.content).toContain("image/png");
    expect(model.received().at(-1)?.messages).toEqual([{ role: "user", content }]);
  });
});

describe("what no arm serves", () => {
  test("is refused by its field, and calls no arm", async () => {
    const before = model.received().length;
    const wrong = (body: object) => client.chat.completions.create({ model: "auto", messages: user("x"), ...body });
    const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:x" } }] }];
    await expect(wrong({ model: "recorded", tools })).rejects.toMatchObject({
      ...{ status: 400, code: "unsupported_parameter", param: "tools" },
    });
    await expect(wrong({ messages: image, tools })).rejects.toMatchObject({ code: "unsupported_parameter" });
    await expect(wrong({ n: 17, tools })).rejects.toMatchObject({ code: "invalid_value", param: "n" });
    expect(model.received()).toHaveLength(before);
  });

  test("is refused by plan, too, where it comes from a client of the topics", async () => {
    const ask = async (more: object) => (await system.ask("x", requestOf("x", more))).error?.code;
    const only = (arm: string) => ({ arms: [arm], maxCost: null, deadlineMs: null, costWeight: null });
    const passthrough = JSON.stringify({ tools });
    expect(await ask({ passthrough, requires: [] })).toBe("invalid_params");
    expect(await ask({ passthrough: "{", requires: ["tools"] })).toBe("invalid_params");
    expect(await ask({ passthrough, requires: ["tools", "vision", "parameters"] })).toBe("no_capable_arm");
    expect(await ask({ passthrough, requires: ["tools"], allow: only("recorded") })).toBe("no_arm");
  });
});

describe("the Responses API, for text", () => {
  const long = Array.from({ length: 30 }, (_, i) => `word${i}`).join(" ");
  test("by OpenAI's client: text, usage, and the same request underneath", async () => {
    const response = await client.responses.create({ model: "tools", instructions: "Be kind.", input: "hello" });
    expect(response).toMatchObject({ object: "response", status: "completed", output_text: "heard hello" });
    expect(response.usage?.total_tokens).toBe(14);
    expect(model.received().at(-1)?.messages).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: "hello" },
    ]);
  });
  test("streamed, as the client puts it together", async () => {
    const stream = client.responses.stream({ model: "tools", input: [{ role: "user", content: long }] });
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => (text += delta));
    const response = await stream.finalResponse();
    expect(text).toBe(`heard ${long}`);
    expect(response).toMatchObject({ status: "completed", output_text: `heard ${long}` });
  });
  test("what is not text is refused in OpenAI's format", async () => {
    const wrong = { model: "tools", input: "x", previous_response_id: "r1" };
    await expect(client.responses.create(wrong)).rejects.toMatchObject({
      ...{ status: 400, code: "previous_response_not_found", param: "previous_response_id" },
    });
  });
});

test("embeddings by OpenAI's client: unit vectors, like ones for like texts, numbers and base64 the same", async () => {
  const input = ["list all files", "show every file", "the price of tea"];
  const { data } = await client.embeddings.create({ model: "auto", input });
  const [list = [], show = [], tea = []] = data.map(({ embedding }) => embedding);
  const dot = (one: number[], other: number[]) => one.reduce((sum, value, i) => sum + value * (other[i] ?? 0), 0);
  expect(dot(list, list)).toBeCloseTo(1, 3);
  expect(dot(list, show)).toBeGreaterThan(dot(list, tea));
  const floats = await client.embeddings.create({ model: "auto", input: input[0] ?? "", encoding_format: "float" });
  for (const [i, value] of (floats.data[0]?.embedding ?? []).entries()) expect(value).toBeCloseTo(list[i] ?? NaN, 5);
  await expect(client.embeddings.create({ model: "none", input })).rejects.toMatchObject({
    status: 404,
    code: "model_not_found",
  });
});

test("requests are recorded with what they passed on, and are not to be kept or shared", async () => {
  const { id } = await client.chat.completions.create({ model: "tools", tools, messages: user("recorded so") });
  const row = await system.eventually("its row", async () => {
    const rows = await system.session.clickhouse.query<Record<string, unknown>>(
      `SELECT passthrough, requires, privacy_cache AS cache, privacy_share AS share,
              (SELECT any(passthrough) FROM responses WHERE request_id = {id:String}) AS answer
       FROM requests WHERE request_id = {id:String} AND answer != ''`,
      { id: id.replace("chatcmpl-", "") },
    );
    return rows[0];
  });
  expect(row).toMatchObject({ requires: ["tools"], cache: false, share: false });
  expect(JSON.parse(String(row["passthrough"]))).toEqual({ tools });
  expect(JSON.parse(String(row["answer"]))).toEqual({ message: { tool_calls: calls("recorded so") } });
});
