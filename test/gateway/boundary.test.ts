// The lab's endpoints (../shared/lab/boundary), which are odd as real ones are, through the real
// stack by OpenAI's own client, three of them by others: text, calls, reason and tokens are what
// they mean.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stageNames } from "../../pipelines/up.ts";
import { noLab, startLabEndpoint, type LabEndpoint } from "../support/lab-endpoint.ts";
import { pythonClients, pythonLlamaIndex } from "../support/python-clients.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

/** What each scenario of the lab says: text, tokens of prompt and completion, calls, reason. */
const labCalls = (...listed: [string, string, string][]) => listed.map(([id, name, text]) => `${id} ${name} ${text}`);
const scenarios: Record<string, [text: string, tokens?: [number, number], calls?: string[], reason?: string]> = {
  ...Object.fromEntries(
    "nospace crlf cr comments bom multiline nodone notrail notrail1 pingevent azurefilter emptyfinish-mid gzip br"
      .split(" ")
      .map((name) => [name, ["ab"]]),
  ),
  ...Object.fromEntries(
    "choicesnull choicesmissing choicesnullfirst emptyfinish usage-thenzero usage-strings usage-nocompletion usage-cached"
      .split(" ")
      .map((name) => [name, ["ab", [1_000, 500]]]),
  ),
  utf8split: ["naïve 😀 日本語 end"],
  surrogate: ["A😀B"],
  loneend: ["A\ufffd"],
  nul: ["a\0b"],
  "usage-float": ["ab", [1_001, 500]],
  "reason-add": ["ab", [100, 1_005]],
  "reason-incl": ["ab", [100, 1_005]],
  "content-array": ["answer"],
  "content-array-s": ["answer"],
  jsontostream: ["whole"],
  ...Object.fromEntries(
    "null-content-tools tools-noindex-frag tools-index1 tools-emptyid tools-sameid"
      .split(" ")
      .map((name) => [name, ["", [10, 5], labCalls(["call_1", "f", '{"x":1}']), "tool_calls"]]),
  ),
  ...Object.fromEntries(
    ["tools-dupindex", "tools-noindex"].map((name) => [
      name,
      ["", [10, 5], labCalls(["call_1", "f", '{"x":1}'], ["call_2", "g", '{"y":2}']), "tool_calls"],
    ]),
  ),
};

describe.skipIf(noLab !== "")(`an endpoint as real ones are${noLab && `: ${noLab}`}`, () => {
  let folder: string;
  let lab: LabEndpoint;
  let system: TestSystem;
  let client: OpenAI;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "precedent-boundary-"));
    lab = await startLabEndpoint(folder);
    const openai = {
      type: "openai",
      baseUrl: lab.baseUrl,
      model: "lab-1",
      retries: 0,
      tools: true,
      parameters: true,
    } as const;
    const prices = { prompt: 1, completion: 10 };
    system = await startSystem(
      {
        arms: [
          { name: "lab", ...openai, prices, dispatch: "inline" },
          { name: "lab-whole", ...openai, prices, stream: false, dispatch: "queued" },
        ],
        routing: { defaultArm: "lab", fallbacks: 0 },
      },
      { stages: stageNames.filter((name) => name !== "learn" && name !== "curate") },
    );
    client = new OpenAI({ baseURL: system.stages.baseUrl ?? "", apiKey: "none", maxRetries: 0 });
  });
  afterAll(async () => {
    await system.stop();
    await lab.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const user = (content: string) => [{ role: "user" as const, content }];
  const tools = [{ type: "function" as const, function: { name: "f", parameters: { type: "object" } } }];
  const privacy = { precedent: { privacy: { cache: false } } };
  const ofCalls = (listed: readonly { id?: string; function?: object }[] = []) =>
    listed.map(({ id, function: called }) => Object.values({ id, ...called }).join(" "));

  test.each(Object.entries(scenarios))("%s", async (name, [text, tokens = [10, 5], expected = [], reason = "stop"]) => {
    const asked = { model: "lab", tools, messages: user(`[[${name}]]`), ...privacy };
    const stream = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } });
    let pieces = "";
    for await (const { choices } of stream) pieces += choices[0]?.delta.content ?? "";
    const { choices, usage } = await stream.finalChatCompletion();
    const { message, finish_reason } = choices[0]!;
    expect([pieces, message.content ?? "", finish_reason]).toEqual([text, text, reason]);
    expect(ofCalls(message.tool_calls)).toEqual(expected);
    expect([usage?.prompt_tokens, usage?.completion_tokens]).toEqual(tokens);
  });

  /** Half a character at the end of a piece; no choices beside the tokens; a used index. */
  const understood = {
    text: "A😀B",
    tokens: [1_000, 500],
    calls: [
      ["call_1", "f", { x: 1 }],
      ["call_2", "g", { y: 2 }],
    ],
  };
  const reported = async (python: string, script: string): Promise<unknown> => {
    const file = fileURLToPath(new URL(`clients/${script}`, import.meta.url));
    const env = { ...process.env, BASE_URL: system.stages.baseUrl ?? "" };
    const { stdout } = await promisify(execFile)(python, [file], { env, timeout: 120_000 });
    return JSON.parse(stdout);
  };

  test("is understood by LangChain", { timeout: 600_000 }, async () => {
    expect(await reported(await pythonClients(), "odd_langchain.py")).toEqual(understood);
  });

  test("is understood by LlamaIndex", { timeout: 600_000 }, async () => {
    expect(await reported(await pythonLlamaIndex(), "odd_llamaindex.py")).toEqual(understood);
  });

  test("is understood by the Vercel AI SDK", async () => {
    const options = { name: "precedent", baseURL: system.stages.baseUrl ?? "", apiKey: "none", includeUsage: true };
    const model = createOpenAICompatible(options)("lab");
    const parameters = jsonSchema<object>({ type: "object" });
    const ask = (name: string) =>
      streamText({
        ...{ model, prompt: `[[${name}]]`, maxRetries: 0, providerOptions: { precedent: privacy } },
        tools: { f: tool({ inputSchema: parameters }), g: tool({ inputSchema: parameters }) },
      });
    const { inputTokens, outputTokens } = await ask("choicesnull").usage;
    const calls = await ask("tools-dupindex").toolCalls;
    expect({
      text: await ask("surrogate").text,
      tokens: [inputTokens, outputTokens],
      calls: calls.map(({ toolCallId, toolName, input }): unknown => [toolCallId, toolName, input]),
    }).toEqual(understood);
  });

  test("that sends a whole answer has it read alike, and an error in it is one", async () => {
    const ask = (name: string) =>
      client.chat.completions.create({ model: "lab-whole", messages: user(`[[${name}]]`), ...privacy });
    expect(await ask("content-array")).toMatchObject({ choices: [{ message: { content: "answer" } }] });
    // What it streams although it was not asked to.
    expect(await ask("surrogate")).toMatchObject({ choices: [{ message: { content: "A😀B" } }] });
    await expect(ask("error-mid")).rejects.toMatchObject({ status: 502, code: "endpoint_unavailable" });
  });

  test("that reports no tokens is paid for by an estimate, which is marked", async () => {
    const answer = (await client.chat.completions.create({
      ...{ model: "lab", messages: user("[[usage-neg]]"), ...privacy },
    })) as unknown as { precedent: { cost: number; cost_estimated: boolean } };
    expect(answer.precedent).toMatchObject({ cost_estimated: true });
    expect(answer.precedent.cost).toBeGreaterThan(0);
  });
});
