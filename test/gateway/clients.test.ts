// Third-party clients against the gateway of a running system: OpenAI's for Python, Anthropic's for
// Python and Node, LangChain for both, LiteLLM, the Vercel AI SDK and curl. Each asks, streams,
// calls a tool, requests a format, and maps an error to its own class (OpenAI's for Node:
// gateway*.test.ts).
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { createOpenAICompatible, type OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { cacheFolder } from "../../config/assets.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { nodeClient } from "../support/node-client.ts";
import { pythonClients } from "../support/python-clients.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import { startToolsModel, type ToolsModel } from "../support/tools-model.ts";

const execute = promisify(execFile);
let model: TestModel;
let toolsModel: ToolsModel;
let system: TestSystem;
let baseURL: string;

beforeAll(async () => {
  [model, toolsModel] = await Promise.all([startModel(), startToolsModel()]);
  const openai = { type: "openai", retries: 0, cost: 1 };
  system = await startSystem(
    {
      arms: [
        { ...openai, name: "mock", baseUrl: model.baseUrl, model: "mock-1", tools: false, parameters: false },
        { ...openai, name: "tools", baseUrl: toolsModel.baseUrl, model: "tools-1" },
      ],
      gateway: { models: [{ name: "claude-*", arms: ["mock"] }] },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  baseURL = system.stages.baseUrl ?? "";
});
afterAll(async () => {
  await system.stop();
  await Promise.all([model.stop(), toolsModel.stop()]);
});

const asked = (question: string) =>
  model.received().filter(({ messages }) => (messages as { content: string }[]).at(-1)?.content === question).length;

/** The model's call ends when its client leaves. */
const callEnded = (question: string): Promise<true> =>
  system.eventually("the end of the call that was left", () =>
    Promise.resolve(model.closed().includes(question) ? true : undefined),
  );

describe("Python", () => {
  let python: string;
  /** Output of a client's script. */
  async function reported(script: string): Promise<Record<string, unknown>> {
    const file = fileURLToPath(new URL(`clients/${script}`, import.meta.url));
    const environment = {
      ...process.env,
      BASE_URL: baseURL,
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      LITELLM_LOG: "ERROR",
    };
    const { stdout } = await execute(python, [file], { env: environment, timeout: 120_000 });
    return JSON.parse(stdout) as Record<string, unknown>;
  }
  beforeAll(async () => {
    python = await pythonClients();
  }, 600_000);

  test("OpenAI's client and its Agents: streams, tools, formats, errors, its own retries, and leaving", async () => {
    expect(await reported("with_openai.py")).toEqual({
      answer: ["python asks", "stop", 5],
      ...{ stream: "slowly in many words", stream_usage: 5 },
      tool: ["tool_calls", "weather", { city: "Ulm" }],
      tool_result: "heard sunny",
      tool_stream: ["weather", { city: "Bonn" }],
      format: { answer: "in a format" },
      responses: "python responds",
      responses_tool: ["weather", { city: "Ulm" }, "heard sunny"],
      responses_stream: [{ city: "Bonn" }, "weather"],
      responses_format: { answer: "in a format" },
      agent: "heard rain in Ulm",
      models: expect.arrayContaining(["auto", "mock", "tools"]) as string[],
      request_id: true,
      unknown_model: [404, "model_not_found"],
      refused: ["unsupported_parameter", "n"],
      failed: 502,
      ...{ retried: "takes a while", left: true },
    });
    expect(asked("takes a while")).toBe(1);
    await callEnded("held until it is let go");
  });

  test("Anthropic's client, and LangChain with it", async () => {
    expect(await reported("with_anthropic.py")).toEqual({
      answer: ["anthropic asks", "end_turn", 2, "claude-sonnet-4-5"],
      request_id: true,
      ...{ stream: "slowly in many words", stream_usage: 2 },
      tool: ["tool_use", "weather", { city: "Ulm" }],
      tool_result: "heard sunny",
      tool_stream: [
        ["weather", { city: "Bonn" }],
        ["time", { city: "Bonn" }],
      ],
      tokens: true,
      models: expect.arrayContaining(["auto", "mock", "tools", "claude-*"]) as string[],
      unknown_model: [404, "not_found_error"],
      refused: ["invalid_request_error", "container"],
      ...{ failed: 502, left: true },
      langchain_tool: ["weather", { city: "Ulm" }],
      langchain_result: "heard rain",
      langchain_stream: "langchain in many words",
    });
    await callEnded("held by anthropic until");
  });

  test("LiteLLM", async () => {
    expect(await reported("with_litellm.py")).toEqual({
      answer: ["litellm asks", 5],
      stream: "litellm in many words",
      tool: ["weather", { city: "Ulm" }],
      tool_result: "heard sunny",
      tool_stream: ["weather", { city: "Bonn" }],
      format: { answer: "in a format" },
      ...{ unknown_model: 404, failed: 502, left: true },
    });
    await callEnded("held by litellm until");
  });

  test("LangChain", async () => {
    expect(await reported("with_langchain.py")).toEqual({
      answer: ["langchain asks", 5],
      stream: "langchain in many words",
      batch: ["one", "three", "two"],
      tool: ["weather", { city: "Ulm" }],
      tool_result: "heard rain in Ulm",
      tool_stream: ["weather", { city: "Bonn" }],
      format: { answer: "in a format" },
      ...{ unknown_model: 404, failed: 502, left: true },
    });
    await callEnded("held by langchain until");
  });
});

describe("Anthropic's client for Node", () => {
  let client: Anthropic;
  beforeAll(() => {
    client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ""), apiKey: "none", maxRetries: 0 });
  });
  const user = (content: Anthropic.MessageParam["content"]): Anthropic.MessageParam => ({ role: "user", content });
  const weather: Anthropic.Tool = { name: "weather", input_schema: { type: "object" } };

  test("calls tools whole and as they come, and parses a format", async () => {
    const asks = {
      model: "tools",
      max_tokens: 64,
      messages: [user("Ulm")],
      tools: [weather, { ...weather, name: "time" }],
    };
    const whole = await client.messages.create(asks);
    const input = { city: "Ulm" };
    const calls = [
      { type: "tool_use", name: "weather", input },
      { name: "time", input },
    ];
    expect(whole).toMatchObject({ content: calls, stop_reason: "tool_use" });
    expect((await client.messages.stream(asks).finalMessage()).content).toMatchObject(calls);
    const results = whole.content.map((block, i) => ({
      ...{
        type: "tool_result" as const,
        tool_use_id: block.type === "tool_use" ? block.id : "",
        content: `result ${i}`,
      },
    }));
    const messages = [user("Ulm"), { role: "assistant" as const, content: whole.content }, user(results)];
    expect((await client.messages.create({ ...asks, messages })).content).toMatchObject([{ text: "heard result 1" }]);
    const schema = { type: "object", properties: { answer: { type: "string" } } };
    const format = { type: "json_schema" as const, schema };
    const formatted = await client.messages.create({
      ...{ model: "tools", max_tokens: 64, messages: [user("formatted")], output_config: { format } },
    });
    expect(formatted.content).toMatchObject([{ text: '{"answer":"formatted"}' }]);
  });

  test("throws its own errors, and leaves", async () => {
    const failing = client.messages.create({ model: "mock", max_tokens: 9, messages: [user("fail")] });
    await expect(failing).rejects.toBeInstanceOf(Anthropic.InternalServerError);
    const held = "held by anthropic for node";
    for await (const event of client.messages.stream({ model: "mock", max_tokens: 9, messages: [user(held)] }))
      if (event.type === "content_block_delta") break;
    await callEnded(held);
  });
});

test("LangChain for Node", { timeout: 300_000 }, async () => {
  const source = fileURLToPath(new URL("clients/langchain", import.meta.url));
  const script = await nodeClient(source, "ask.mjs", join(cacheFolder(), "gateway-client-langchain"));
  const environment = { ...process.env, BASE_URL: baseURL };
  const { stdout } = await execute(process.execPath, [script], { env: environment, timeout: 120_000 });
  expect(JSON.parse(stdout)).toEqual({
    answer: ["langchain asks", 5],
    finish: "stop",
    ...{ stream: "langchain in many words", stream_usage: 5 },
    batch: ["one", "two", "three"],
    tool: ["weather", { city: "Ulm" }],
    tool_result: "heard rain in Ulm",
    tool_stream: ["weather", { city: "Bonn" }],
    format: { answer: "in a format" },
    unknown_model: ["NotFoundError", 404, "model_not_found"],
    failed: ["InternalServerError", 502, "endpoint_unavailable"],
  });
});

describe("the Vercel AI SDK", () => {
  let precedent: OpenAICompatibleProvider;
  beforeAll(() => {
    const options = { name: "precedent", baseURL, apiKey: "none" };
    precedent = createOpenAICompatible({ ...options, supportsStructuredOutputs: true, includeUsage: true });
  });

  test("answers and streams", async () => {
    const { text, usage, finishReason } = await generateText({ model: precedent("mock"), prompt: "vercel asks" });
    expect([text, usage.totalTokens, finishReason]).toEqual(["vercel asks", 5, "stop"]);
    const streamed = streamText({ model: precedent("mock"), prompt: "vercel in many words" });
    let all = "";
    for await (const piece of streamed.textStream) all += piece;
    expect([all, (await streamed.usage).totalTokens]).toEqual(["vercel in many words", 5]);
  });

  test.each([false, true])("runs tools and goes on with their results (streamed: %s)", async (stream) => {
    const weather = tool({
      description: "The weather of a city.",
      inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
      execute: ({ city }) => `rain in ${city}`,
    });
    const question = {
      ...{ model: precedent("tools"), prompt: `Bonn, ${stream ? "streamed" : "whole"}`, tools: { weather } },
      stopWhen: stepCountIs(3),
    };
    const text = stream ? await streamText(question).text : (await generateText(question)).text;
    expect(text).toContain(`rain in ${question.prompt}`);
  });

  test("parses a format, and throws its own errors", async () => {
    const schema = jsonSchema<{ answer: string }>({ type: "object", properties: { answer: { type: "string" } } });
    const { output } = await generateText({
      ...{ model: precedent("tools"), prompt: "in a format" },
      output: Output.object({ schema }),
    });
    expect(output).toEqual({ answer: "in a format" });
    const unknown = generateText({ model: precedent("unknown"), prompt: "x", maxRetries: 0 });
    const error: unknown = await unknown.catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error) && [error.statusCode, error.isRetryable]).toEqual([404, false]);
  });
});

test("the Vercel AI SDK asks again by itself, and leaves", async () => {
  const options = { name: "precedent", baseURL, apiKey: "none" };
  let calls = 0;
  const flaky = createOpenAICompatible({
    ...options,
    // What a gateway says whose brokers are away, the first time.
    fetch: (...given) =>
      calls++ === 0
        ? Promise.resolve(new Response("{}", { status: 503, headers: { "retry-after": "0" } }))
        : fetch(...given),
  });
  expect((await generateText({ model: flaky("mock"), prompt: "vercel again" })).text).toBe("vercel again");
  expect([calls, asked("vercel again")]).toEqual([2, 1]);
  const leaves = new AbortController();
  const prompt = "held by vercel until";
  const streamed = streamText({
    ...{ model: createOpenAICompatible(options)("mock"), prompt, abortSignal: leaves.signal },
    onError: () => undefined,
  });
  for await (const piece of streamed.textStream) if (piece !== "") leaves.abort();
  await callEnded(prompt);
});

test("curl, whole and as it comes", async () => {
  const curl = async (body: object, seconds = "60"): Promise<string> => {
    const json = ["-H", "content-type: application/json", "-d", JSON.stringify(body)];
    const { stdout } = await execute("curl", ["-sSN", "--max-time", seconds, `${baseURL}/chat/completions`, ...json]);
    return stdout;
  };
  const messages = [{ role: "user", content: "curl asks" }];
  expect(JSON.parse(await curl({ model: "mock", messages }))).toMatchObject({
    choices: [{ message: { content: "curl asks" } }],
  });
  const events = (await curl({ model: "mock", messages, stream: true })).trim().split("\n\n");
  expect(events.at(-1)).toBe("data: [DONE]");
  const text = events.slice(0, -1).map((event) => {
    const { choices } = JSON.parse(event.replace("data: ", "")) as { choices: { delta: { content?: string } }[] };
    return choices[0]?.delta.content ?? "";
  });
  expect(text.join("")).toBe("curl asks");
  // An error is a status and a body; who gives up takes the request back.
  const failed = await curl({ model: "unknown", messages });
  expect(JSON.parse(failed)).toMatchObject({ error: { code: "model_not_found" } });
  const left = "held by curl until";
  await expect(
    curl({ model: "mock", messages: [{ role: "user", content: left }], stream: true }, "2"),
  ).rejects.toThrow();
  await callEnded(left);
});
