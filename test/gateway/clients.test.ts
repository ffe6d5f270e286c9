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
import OpenAI from "openai";
import { APICallError, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { cacheFolder } from "../../config/assets.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { startMessagesModel, thought, type MessagesModel } from "../support/messages-model.ts";
import { nodeClient } from "../support/node-client.ts";
import { pythonClients, pythonLlamaIndex } from "../support/python-clients.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import { startToolsModel, type ToolsModel } from "../support/tools-model.ts";

const execute = promisify(execFile);
let model: TestModel;
let toolsModel: ToolsModel;
let claude: MessagesModel;
let system: TestSystem;
let baseURL: string;

beforeAll(async () => {
  [model, toolsModel, claude] = await Promise.all([startModel(), startToolsModel(), startMessagesModel()]);
  const openai = { type: "openai", retries: 0, cost: 1 };
  system = await startSystem(
    {
      arms: [
        { ...openai, name: "mock", baseUrl: model.baseUrl, model: "mock-1", tools: false, parameters: false },
        { ...openai, name: "tools", baseUrl: toolsModel.baseUrl, model: "tools-1" },
        { name: "claude", type: "anthropic", retries: 0, cost: 1, baseUrl: claude.baseUrl, model: "claude-m" },
      ],
      gateway: { models: [{ name: "claude-*", arms: ["mock"] }] },
    },
    { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
  );
  baseURL = system.stages.baseUrl ?? "";
});
afterAll(async () => {
  await system.stop();
  await Promise.all([model.stop(), toolsModel.stop(), claude.stop()]);
});

const asked = (question: string) =>
  model.received().filter(({ messages }) => (messages as { content: string }[]).at(-1)?.content === question).length;

/** The model's call ends when its client leaves. */
const callEnded = (question: string, by: Pick<TestModel, "closed"> = model): Promise<true> =>
  system.eventually("the end of the call that was left", () =>
    Promise.resolve(by.closed().includes(question) ? true : undefined),
  );

describe("Python", () => {
  let python: string;
  /** Output of a client's script. */
  async function reported(script: string, by = python): Promise<Record<string, unknown>> {
    const file = fileURLToPath(new URL(`clients/${script}`, import.meta.url));
    const environment = {
      ...process.env,
      BASE_URL: baseURL,
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      LITELLM_LOG: "ERROR",
    };
    const { stdout } = await execute(by, [file], { env: environment, timeout: 120_000 });
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
      ...{ agent_stream: "heard rain in Mainz", agent_format: "in a format", agent_failed: "model_not_found" },
      models: expect.arrayContaining(["auto", "mock", "tools"]) as string[],
      request_id: true,
      unknown_model: [404, "model_not_found"],
      ...{ agent_goes_on: "heard rain in Bonn", responses_previous: ["python goes on", true] },
      unknown_previous: ["previous_response_not_found", "previous_response_id"],
      several: [
        [0, "one of two"],
        [1, "one of two"],
      ],
      several_stream: ["one of two", "one of two"],
      completion: ["completed in python", "completed in pieces"],
      no_echo: ["unsupported_parameter", "echo"],
      refused: ["unsupported_parameter", "best_of"],
      failed: 502,
      ...{ retried: "takes a while", left: true },
    });
    expect(asked("takes a while")).toBe(1);
    const before = ["python responds", "python responds", "python goes on"];
    expect(
      model.received().map(({ messages }) => (messages as { content: string }[]).map(({ content }) => content)),
    ).toContainEqual(before);
    await callEnded("held until it is let go");
    await callEnded("held by agents until");
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
      tool_runner: "heard rain in Ulm",
      tokens: true,
      models: expect.arrayContaining(["auto", "mock", "tools", "claude-*"]) as string[],
      unknown_model: [404, "not_found_error"],
      refused: ["invalid_request_error", "container"],
      format: { answer: "in a format" },
      ...{ failed: 502, left: true },
      langchain_tool: ["weather", { city: "Ulm" }],
      langchain_result: "heard rain",
      langchain_stream: "langchain in many words",
      ...{ langchain_format: { answer: "in a format" }, langchain_failed: 404 },
    });
    await callEnded("held by anthropic until");
    await callEnded("held by langchain and anthropic until");
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

  test("LlamaIndex", { timeout: 300_000 }, async () => {
    expect(await reported("with_llamaindex.py", await pythonLlamaIndex())).toEqual({
      answer: "llamaindex asks",
      stream: "llamaindex in many words",
      tools: ["weather", { city: "Ulm" }, "rain in Bonn"],
      claude: ["weather", { city: "Ulm" }, "rain in Bonn"],
      format: "in a format",
      ...{ failed: 502, left: true },
    });
    await callEnded("held by llamaindex until");
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
    const runnable = { ...weather, run: () => "rain", parse: (input: unknown) => input };
    const runner = { model: "tools", max_tokens: 64, messages: [user("Ulm")], tools: [runnable] };
    expect((await client.beta.messages.toolRunner(runner)).content).toMatchObject([{ text: "heard rain" }]);
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

describe("an anthropic arm", () => {
  const user = (content: Anthropic.MessageParam["content"]): Anthropic.MessageParam => ({ role: "user", content });
  const weather: Anthropic.Tool = { name: "weather", input_schema: { type: "object" } };
  const called = (city: string) => ({ type: "tool_use", id: "toolu_0", name: "weather", input: { city } });
  let anthropic: Anthropic;
  let openai: OpenAI;
  beforeAll(() => {
    anthropic = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ""), apiKey: "none", maxRetries: 0 });
    openai = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  });

  test.each([false, true])("answers its own format byte for byte, thoughts included (streamed: %s)", async (stream) => {
    const city = stream ? "Bonn" : "Ulm";
    const thinking = { type: "enabled" as const, budget_tokens: 1_024 };
    const asks = { model: "claude", max_tokens: 2_048, thinking, messages: [user(city)], tools: [weather] };
    const first = stream ? await anthropic.messages.stream(asks).finalMessage() : await anthropic.messages.create(asks);
    expect(first).toMatchObject({ stop_reason: "tool_use", content: [thought, called(city)] });
    expect(first.content[0]).toEqual(thought);
    expect(first.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 7 });
    const result = user([{ type: "tool_result", tool_use_id: "toolu_0", content: "rain" }]);
    const messages = [user(city), { role: "assistant" as const, content: first.content }, result];
    const second = await anthropic.messages.create({ ...asks, messages });
    expect(second.content).toMatchObject([{ type: "text", text: "heard rain" }]);
    const { body, text } = claude.received().at(-1)!;
    expect(body).toMatchObject({ model: "claude-m", max_tokens: 2_048, thinking, tools: [weather] });
    expect(text).toContain(JSON.stringify(thought));
  });

  test("passes on what only its format has", async () => {
    const document = {
      type: "document" as const,
      source: { type: "base64" as const, media_type: "application/pdf" as const, data: "QUI=" },
    };
    const answer = await anthropic.messages.create({
      ...{ model: "claude", max_tokens: 9, messages: [user([document, { type: "text", text: "read" }])] },
    });
    expect(answer.content).toMatchObject([{ text: "read" }]);
    expect(claude.received().at(-1)?.body.messages[0]?.content).toMatchObject([document, { text: "read" }]);
  });

  test.each([false, true])(
    "answers clients of chat completions: tools, results, format (streamed: %s)",
    async (stream) => {
      const tools = [{ type: "function" as const, function: { name: "weather", parameters: { type: "object" } } }];
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Ulm" }];
      const ask = (body: Partial<OpenAI.ChatCompletionCreateParams>) => {
        const asks = { model: "claude", messages, ...body };
        return stream
          ? openai.chat.completions.stream({ ...asks, stream: true }).finalChatCompletion()
          : openai.chat.completions.create({ ...asks, stream: false });
      };
      const [choice] = (await ask({ tools })).choices;
      expect(choice).toMatchObject({
        finish_reason: "tool_calls",
        message: { tool_calls: [{ id: "toolu_0", function: { name: "weather", arguments: '{"city":"Ulm"}' } }] },
      });
      const call = choice?.message.tool_calls?.[0];
      if (call?.type !== "function") throw new Error("no call");
      messages.push({
        role: "assistant",
        content: null,
        tool_calls: [{ id: call.id, type: "function", function: call.function }],
      });
      messages.push({ role: "tool", tool_call_id: "toolu_0", content: "rain" });
      expect((await ask({ tools })).choices[0]?.message.content).toBe("heard rain");
      messages.splice(0, 3, { role: "user", content: "in a format" });
      const schema = { name: "n", schema: { type: "object" } };
      const formatted = await ask({ response_format: { type: "json_schema", json_schema: schema } });
      expect(formatted.choices[0]?.message.content).toBe('{"answer":"in a format"}');
    },
  );

  test("gives its errors in the client's format, and is left when the client leaves", async () => {
    const asks = { model: "claude", max_tokens: 9 };
    for (const text of ["fail", "fail later"])
      await expect(anthropic.messages.stream({ ...asks, messages: [user(text)] }).finalMessage()).rejects.toThrow();
    const failing = openai.chat.completions.create({ model: "claude", messages: [{ role: "user", content: "fail" }] });
    await expect(failing).rejects.toMatchObject({ status: 502, code: "endpoint_unavailable" });
    const held = "held by claude";
    for await (const event of anthropic.messages.stream({ ...asks, messages: [user(held)] }))
      if (event.type === "content_block_delta") break;
    await callEnded(held, claude);
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
