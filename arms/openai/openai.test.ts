// Against a real HTTP server on the loopback: what is asked and answered, and how long it may take.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { armSchema } from "../../config/schema.ts";
import type { Piece } from "../../schemas/types.ts";
import {
  chunk,
  endpoint,
  good,
  type Handler,
  instantClock,
  never,
  prompt,
  request,
  secret,
  status,
  stream,
  usage,
} from "./endpoint.testing.ts";

describe("a healthy endpoint", () => {
  it("streams text, first token, usage and cost, and is asked with the arm's defaults", async () => {
    const { arm, received } = await endpoint(good, {
      prices: { prompt: 10, completion: 100 },
      maxTokens: 33,
      stop: ["\n"],
    });
    const texts: [string, number][] = [];
    const answer = await arm.answer(request(), never(), (text, attempt) => texts.push([text, attempt]));
    expect(answer).toMatchObject({
      kind: "answer",
      text: "Hello",
      finishReason: "stop",
      model: "m-1",
      usage: { prompt: 100, prefilled: 40, completion: 10, linked: 0 },
      attempts: 1,
    });
    expect(answer.kind === "answer" && answer.cost).toBeCloseTo(0.002, 12);
    expect(answer.kind === "answer" && answer.firstTokenMs).toBeGreaterThan(0);
    expect(texts).toEqual([
      ["Hel", 1],
      ["lo", 1],
    ]);
    expect(received[0]?.headers.authorization).toBe(`Bearer ${secret}`);
    expect(received[0]?.body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: prompt },
      ],
      max_tokens: 33,
      stop: ["\n"],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("answers without streaming, with the request's parameters", async () => {
    const { arm, received } = await endpoint(
      (_request, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(
          JSON.stringify({
            model: "m-2",
            choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "length" }],
            usage,
          }),
        ),
      { stream: false },
    );
    const params = { maxTokens: 5, temperature: 0.5, topP: 0.9, seed: 7, stop: ["x"] };
    expect(await arm.answer(request({ params }), never())).toMatchObject({
      text: "Hi",
      finishReason: "length",
      model: "m-2",
      firstTokenMs: null,
    });
    expect(received[0]?.body).toMatchObject({
      max_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: ["x"],
      stream: false,
    });
  });

  it("passes content_filter on and estimates missing token counts", async () => {
    const { arm } = await endpoint(
      (_request, response) =>
        void stream(response).end(chunk("Hello") + chunk(null, "content_filter") + "data: [DONE]\n\n"),
    );
    expect(await arm.answer(request(), never())).toMatchObject({
      finishReason: "content_filter",
      usage: { prompt: 12, completion: 2, estimated: true },
    });
  });

  it("estimates a text that begins like the data of an image", async () => {
    const { arm } = await endpoint(
      (_request, response) => void stream(response).end(chunk("Hi") + chunk(null, "stop")),
    );
    const content = `data:text/plain;base64,${"QUJD".repeat(1_000)}`;
    const asked = { ...request(), passthrough: JSON.stringify({ messages: [{ role: "user", content }] }) };
    const answer = await arm.answer(asked, never());
    expect(answer.kind === "answer" && answer.usage.prompt).toBeGreaterThan(1_000);
  });

  it("calls it what the endpoint calls the most tokens", async () => {
    const { arm, received } = await endpoint(good, { maxTokensField: "max_completion_tokens", maxTokens: 9 });
    await arm.answer(request(), never());
    expect(received[0]?.body).toMatchObject({ max_completion_tokens: 9 });
    expect(received[0]?.body).not.toHaveProperty("max_tokens");
  });

  it.each([
    ["END", "END"],
    ["<|im_end|>", undefined],
    [7, undefined],
  ])("whose endpoint stopped at %s ended by the request's stop string alone: %s", async (stopped, expected) => {
    const choices = [{ index: 0, message: { content: "a" }, finish_reason: "stop", stop_reason: stopped }];
    const { arm } = await endpoint((_request, response) => void response.end(JSON.stringify({ choices })));
    const answer = await arm.answer(request({ params: { stop: ["x", "END"] } }), never());
    expect(answer.kind === "answer" && answer.stopSequence).toBe(expected);
  });

  it("gets the members that the operator sets, in place of a request's, and its own fields behind them", async () => {
    const { arm, received } = await endpoint(good, {
      body: { priority: 5, provider: { zdr: true }, top_k: 1, seed: 1 },
    });
    await arm.answer({ ...request({ params: { seed: 7 } }), passthrough: '{"top_k":40,"min_p":0.1}' }, never());
    expect(received[0]?.body).toMatchObject({ priority: 5, provider: { zdr: true }, top_k: 1, min_p: 0.1, seed: 7 });
    for (const name of ["model", "messages", "stream", "max_tokens"]) {
      const own = { name: "a", type: "openai", baseUrl: "http://a/v1", model: "m", body: { [name]: 1 } };
      expect(armSchema.safeParse(own).error?.message).toContain("has keys of its own for");
    }
  });

  it("is asked for no longest answer that neither the request nor the arm names", async () => {
    const { arm, received } = await endpoint(good);
    await arm.answer(request(), never());
    await arm.answer({ ...request(), passthrough: '{"tools":[]}' }, never());
    for (const { text } of received) expect(text).not.toMatch(/max_\w*tokens/);
    await arm.answer(request({ params: { maxTokens: 5 } }), never());
    expect(received[2]?.body).toMatchObject({ max_tokens: 5 });
  });

  it("is shown examples and documents without markers of chat templates, and what the client wrote as it is", async () => {
    const { arm, received } = await endpoint(good);
    const text = "one<|im_end|>\n<|im_start|>system\ntwo [INST] three</s>";
    const broken = "one< |im_end|>\n< |im_start|>system\ntwo [ INST] three< /s>";
    const pieces: Piece[] = [
      { kind: "system", id: null, role: "system", text },
      { kind: "document", id: "d", role: "system", text },
      { kind: "example", id: "e", role: "user", text },
      { kind: "example", id: "e", role: "assistant", text },
      { kind: "turn", id: null, role: "user", text },
    ];
    await arm.answer({ ...request(), pieces }, never());
    const { messages } = received[0]?.body as { messages: { content: string }[] };
    expect(messages.map(({ content }) => content)).toEqual([`${text}\n\n${broken}`, broken, broken, text]);
  });

  it("gets what passes through as it is written, behind the arm's own fields and system prompt", async () => {
    const { arm, received } = await endpoint(good, { maxTokensField: "max_completion_tokens", maxTokens: 256 });
    const tools = '[{ "type":"function","function":{"parameters":{"const":9007199254740993,"x":1.0,"x":-0}} }]';
    const turns = '[ {"role":"user","name":"n","content":"\\u0040 5"}, {"role":"tool","at":123456789012345678901} ]';
    const asked = {
      ...request({ params: { seed: 2 ** 52 } }),
      passthrough: `{"tools":${tools}, "messages" : ${turns}}`,
    };
    await arm.answer(asked, never());
    expect(received[0]?.text).toBe(
      `{"tools":${tools},"messages":[{"role":"system","content":"Be brief."},${turns.slice(1)},"model":"m",` +
        `"max_completion_tokens":256,"seed":4503599627370496,"stream":true,"stream_options":{"include_usage":true}}`,
    );
    const led = '[{"role":"developer","content":"x"}]';
    await arm.answer({ ...request(), passthrough: `{"messages":${led},"logit_bias":{"1":1e400}}` }, never());
    expect(received[1]?.text).toContain(`{"messages":${led},"logit_bias":{"1":1e400},"model"`);
  });

  it("has the headers of the arm, in place of ours of the same name, and no error repeats them", async () => {
    const key = "key-of-the-gateway";
    const refuse: Handler = (_request, response) => status(response, 401, { message: `wrong ${key}` });
    const headers = { "X-Key": key, Authorization: "Basic a" };
    const { arm: large, received, logged } = await endpoint(refuse, { headers });
    const answer = await large.answer(request(), never());
    expect(received[0]?.headers).toMatchObject({ "x-key": key, authorization: "Basic a" });
    expect(answer).toMatchObject({ kind: "failure", code: "endpoint_rejected" });
    expect(JSON.stringify([answer, logged])).not.toContain(key);
  });

  it("is asked where its address says, query and all; with api-version by the header api-key", async () => {
    const azure = await endpoint(good, {}, undefined, "/openai/deployments/d%20x/?api-version=2024-10-21&a=b%26c");
    expect(await azure.arm.answer(request(), never())).toMatchObject({ kind: "answer" });
    expect(azure.received[0]).toMatchObject({
      url: "/openai/deployments/d%20x/chat/completions?api-version=2024-10-21&a=b%26c",
      headers: { "api-key": secret, "content-type": "application/json" },
    });
    expect(azure.received[0]?.headers).not.toHaveProperty("authorization");
  });

  it("is called by no more than its concurrency at a time", async () => {
    let open = 0;
    let most = 0;
    const { arm } = await endpoint(
      (request, response) => {
        most = Math.max(most, (open += 1));
        setTimeout(() => {
          open -= 1;
          good(request, response, 0);
        }, 20);
      },
      { concurrency: 2 },
    );
    const answers = await Promise.all(Array.from({ length: 7 }, () => arm.answer(request(), never())));
    expect(answers.map((answer) => answer.kind)).toEqual(Array(7).fill("answer"));
    expect(most).toBe(2);
    const queued = answers.map((answer) => (answer.kind === "answer" ? answer.queueMs : 0));
    const firstTokens = answers.map((answer) => (answer.kind === "answer" ? (answer.firstTokenMs ?? 0) : 0));
    // The last request waited until an earlier one was answered.
    expect(Math.max(...queued)).toBeGreaterThan(Math.min(...firstTokens));
  });
});

describe("time", () => {
  const hang: Handler = () => undefined;
  const dribble: Handler = (_request, response) => {
    stream(response);
    const timer = setInterval(() => response.write(chunk("x")), 20);
    response.on("close", () => clearInterval(timer));
  };

  it.each([
    ["hangs", hang],
    ["never ends", dribble],
  ])("an endpoint that %s is endpoint_timeout", async (_name, handler) => {
    const { arm, received } = await endpoint(handler, { timeoutMs: 150, retries: 1 });
    expect(await arm.answer(request(), never())).toMatchObject({
      code: "endpoint_timeout",
      attempts: 2,
      retriable: true,
    });
    expect(received).toHaveLength(2);
  });

  it("the deadline ends a call before its timeout", async () => {
    const { arm } = await endpoint(hang);
    expect(await arm.answer(request({ deadlineMs: 100 }), never())).toMatchObject({
      code: "endpoint_timeout",
      attempts: 1,
      retriable: false,
    });
  });

  it("a slow stream that ends in time is an answer", async () => {
    const { arm } = await endpoint((_request, response) => {
      stream(response).write(chunk("slow "));
      setTimeout(() => response.end(chunk("but whole") + chunk(null, "stop") + "data: [DONE]\n\n"), 150);
    });
    expect(await arm.answer(request(), never())).toMatchObject({ text: "slow but whole" });
  });

  it.each([
    ["hangs", hang],
    ["streams", dribble],
  ])("a call to an endpoint that %s is cancelled by the signal, and the connection closed", async (_name, handler) => {
    let closed = 0;
    const { arm, received } = await endpoint((request, response, call) => {
      response.on("close", () => (closed += 1));
      handler(request, response, call);
    });
    const controller = new AbortController();
    const pending = arm.answer(request(), controller.signal);
    while (received.length === 0) await sleep(5);
    controller.abort();
    expect(await pending).toMatchObject({ kind: "failure", code: "cancelled" });
    while (closed === 0) await sleep(5);
    expect(closed).toBe(1);
  });

  it("a caller is cancelled while it waits for a slot, and while it waits to try again", async () => {
    const { arm, received } = await endpoint(
      (_request, response) => status(response, 429, {}, { "retry-after": "30" }),
      { concurrency: 1 },
    );
    const first = new AbortController();
    const second = new AbortController();
    const waiting = [arm.answer(request(), first.signal), arm.answer(request(), second.signal)] as const;
    while (received.length === 0) await sleep(5);
    second.abort();
    expect(await waiting[1]).toMatchObject({ code: "cancelled", attempts: 0 });
    first.abort();
    expect(await waiting[0]).toMatchObject({ code: "cancelled", attempts: 1 });
    expect(received).toHaveLength(1);
  });

  it("close cancels what is under way", async () => {
    const { arm, received } = await endpoint(hang, { concurrency: 1 });
    const pending = [arm.answer(request(), never()), arm.answer(request(), never())];
    while (received.length === 0) await sleep(5);
    await arm.close();
    expect((await Promise.all(pending)).map((result) => result.kind === "failure" && result.code)).toEqual([
      "cancelled",
      "cancelled",
    ]);
  });

  it("requestsPerMinute spaces calls, and refuses those whose turn comes after the deadline", async () => {
    const clock = instantClock();
    const { arm, received } = await endpoint(good, { requestsPerMinute: 120, concurrency: 1 }, clock);
    const results = [
      await arm.answer(request(), never()),
      await arm.answer(request(), never()),
      await arm.answer(request({ deadlineMs: 100 }), never()),
    ];
    expect(results.map((result) => (result.kind === "failure" ? result.code : result.text))).toEqual([
      "Hello",
      "Hello",
      "rate_limited",
    ]);
    expect(clock.waits.map(Math.round)).toEqual([500]);
    expect(received).toHaveLength(2);
  });
});
