import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { armSchema, type OpenAiArmConfig } from "../config/schema.ts";
import { endpointsOf } from "./openai/replicas/members.ts";
import { probeEndpoint } from "./probe-endpoint.ts";

let server: Server | undefined;
afterEach(() => void server?.close());

type Body = Record<string, unknown> | null;
interface Reply {
  status?: number;
  body: unknown;
}

/** What is found of an arm whose endpoint answers so, and the bodies that it got. */
async function probed(reply: (body: Body, url: string, key: string) => Reply, more: object = {}, path = "/v1") {
  const bodies: Body[] = [];
  const made = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const body = text === "" ? null : (JSON.parse(text) as Body);
      bodies.push(body);
      const { headers, url = "" } = request;
      const answer = reply(body, url, String(headers["api-key"] ?? headers.authorization));
      response
        .writeHead(answer.status ?? 200)
        .end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(made.address() as AddressInfo).port}${path}`;
  const arm = armSchema.parse({ name: "a", type: "openai", baseUrl, model: "m", apiKey: "k", tools: true, ...more });
  const [endpoint] = endpointsOf(arm as OpenAiArmConfig);
  return { ...(await probeEndpoint(arm as OpenAiArmConfig, endpoint!)), bodies };
}

const usage = { prompt_tokens: 3, completion_tokens: 1 };
const streamed: Reply = { body: `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n` };
const whole: Reply = { body: { choices: [{ message: { content: "OK" } }], usage } };
const refusal = (message: string, status = 400): Reply => ({ status, body: { error: { message } } });

describe("an endpoint", () => {
  it("that takes all is called once", async () => {
    const { state, detail, bodies } = await probed(() => streamed);
    expect({ state, calls: bodies.length }).toEqual({ state: "fine", calls: 1 });
    expect(detail).toMatch(/m at http.*: stream true, tools true, maxTokensField max_tokens$/);
    expect(bodies[0]).toMatchObject({ model: "m", stream: true, max_tokens: 16, tools: [{ type: "function" }] });
  });

  it("is asked with the members of the arm's body, and which of them it refuses is said", async () => {
    const refusing = (body: Body) =>
      body !== null && "priority" in body ? refusal("priority must be below 9") : whole;
    const { state, remedy, bodies } = await probed(refusing, { body: { priority: 9, top_k: 3 } });
    expect(bodies[0]).toMatchObject({ priority: 9, top_k: 3, model: "m", max_tokens: 16 });
    expect({ state, remedy }).toEqual({ state: "missing", remedy: "correct body.priority of this arm" });
    const thinking = { type: "enabled", budget_tokens: 1_024 };
    const messages = await probed(() => whole, { type: "anthropic", body: { thinking } });
    expect(messages.bodies[0]).toMatchObject({ thinking, max_tokens: 1_040 });
  });

  it("that refuses parts of it is asked without them, and the lines to write are said", async () => {
    const { state, remedy, bodies } = await probed((body) => {
      if (body !== null && "max_tokens" in body)
        return refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.");
      if (body !== null && "tools" in body) return refusal('"auto" tool choice requires --enable-auto-tool-choice');
      return body !== null && "stream" in body ? refusal("streaming is not supported") : whole;
    });
    expect(state).toBe("missing");
    expect(remedy).toBe("write in this arm: stream: false, tools: false, maxTokensField: max_completion_tokens");
    expect(bodies).toHaveLength(4);
  });

  it.each<[string, (body: Body, url: string, key: string) => Reply, object, object]>([
    ["answers whole though a stream is asked", () => whole, {}, { state: "missing", remedy: /stream: false$/ }],
    [
      "has tools that the arm does not use",
      () => streamed,
      { tools: false },
      { state: "lacking", remedy: /tools: true/ },
    ],
    ["has another key", () => refusal("no", 401), {}, { state: "missing", remedy: /apiKey/ }],
    ["is asked too much", () => refusal("slow down", 429), {}, { state: "lacking", remedy: /wait/ }],
    [
      "is another service",
      () => ({ body: "<html>" }),
      {},
      { state: "missing", detail: /no chat completion: "<html>"/ },
    ],
    ["redirects", () => refusal("", 308), {}, { state: "missing", remedy: /baseUrl/ }],
    [
      "has no such model",
      (body) => (body === null ? { body: { data: [{ id: "m-1" }, { id: "m-2" }] } } : refusal("model not found", 404)),
      {},
      { state: "missing", remedy: /model: one of m-1, m-2/ },
    ],
    ["fails", () => refusal("oops", 500), {}, { state: "missing", detail: /answers with 500: .*oops/ }],
  ])(
    "that %s",
    async (_name, reply, more, { state, detail, remedy }: { state?: string; detail?: RegExp; remedy?: RegExp }) => {
      const found = await probed(reply, more);
      expect(found.state).toBe(state);
      if (detail !== undefined) expect(found.detail).toMatch(detail);
      if (remedy !== undefined) expect(found.remedy).toMatch(remedy);
    },
  );

  it("of Azure is asked with its query and its header; an address without /v1 gets one proposed", async () => {
    const azure = await probed(
      (_body, url, key) => (url === "/d/chat/completions?api-version=1" && key === "k" ? streamed : refusal("no", 401)),
      {},
      "/d?api-version=1",
    );
    expect(azure.state).toBe("fine");
    server?.close();
    const { remedy } = await probed(() => refusal("no such page", 404), {}, "");
    expect(remedy).toMatch(/baseUrl: http:\/\/127\.0\.0\.1:\d+\/v1$/);
  });

  it("of Anthropic's format is asked in it, with its header, and what it lacks is said", async () => {
    const started = `event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3}}}\n\n`;
    const [none, more] = [{ apiKey: "k" }, { type: "anthropic" }];
    const fine = await probed((_body, url) => (url === "/v1/messages" ? { body: started } : refusal("no", 404)), more);
    expect(fine).toMatchObject({ state: "fine", detail: expect.stringMatching(/: stream true, tools true$/) });
    expect(fine.bodies).toMatchObject([{ model: "m", stream: true, max_tokens: 16, tools: [{ input_schema: {} }] }]);
    expect(fine.bodies[0]).not.toHaveProperty("stream_options");
    server?.close();
    const whole = { body: { type: "message", content: [], usage: { input_tokens: 3 } } };
    const less = await probed(
      (body) => (body !== null && "tools" in body ? refusal("tools: not supported") : whole),
      more,
    );
    expect(less).toMatchObject({ state: "missing", remedy: "write in this arm: stream: false, tools: false" });
    server?.close();
    const listed = (body: Body): Reply =>
      body === null ? { body: { data: [{ id: "claude-1" }] } } : refusal("model: m", 404);
    expect(await probed(listed, { ...more, ...none })).toMatchObject({
      remedy: expect.stringMatching(/one of claude-1/),
    });
    server?.close();
    const other = await probed(() => streamed, more);
    expect(other).toMatchObject({ state: "missing", detail: expect.stringMatching(/no message: /) });
  });

  it("that lists no models is not said to be elsewhere for want of the model", async () => {
    const { remedy } = await probed((body) => refusal(body === null ? "no" : "The model `m` does not exist.", 404));
    expect(remedy).toBe("correct model of this arm");
  });

  it("that repeats the key is quoted without it", async () => {
    const { detail } = await probed(() => refusal("Incorrect API key provided: own-key.", 401), { apiKey: "own-key" });
    expect(detail).toMatch(/provided: \[key\]\./);
  });

  it("that speaks no TLS is named so, on one line", async () => {
    const made = createServer();
    server = made;
    await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
    const baseUrl = `https://127.0.0.1:${(made.address() as AddressInfo).port}/v1`;
    const arm = armSchema.parse({ name: "a", type: "openai", baseUrl, model: "m" }) as OpenAiArmConfig;
    const { detail, remedy } = await probeEndpoint(arm, endpointsOf(arm)[0]!);
    expect(detail).not.toContain("\n");
    expect(remedy).toBe("it speaks no TLS; begin baseUrl with http://");
  });

  it("that is not there", async () => {
    const arm = armSchema.parse({ name: "a", type: "openai", baseUrl: "http://127.0.0.1:2/v1", model: "m" });
    expect(await probeEndpoint(arm as OpenAiArmConfig, endpointsOf(arm as OpenAiArmConfig)[0]!)).toMatchObject({
      state: "missing",
      detail: expect.stringMatching(/does not answer: .*ECONNREFUSED/),
    });
  });
});
