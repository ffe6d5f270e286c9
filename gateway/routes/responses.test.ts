import pino from "pino";
import { expect, it } from "vitest";
import { addAccess } from "../access.ts";
import { localCaller } from "../local.ts";
import { aResponse } from "../responses.testing.ts";
import { createServer } from "../server.ts";
import { addChat } from "./chat.ts";
import { addResponses } from "./responses.ts";

it.each([
  ["/v1/responses", { input: "long" }, "input"],
  ["/v1/chat/completions", { messages: [{ role: "user", content: "long" }] }, "messages"],
])("a prompt that is too long is named as %s names it, streamed or not", async (url, body, param) => {
  const server = createServer({ maxBodyBytes: 1_024, slowReaderMs: 1_000, log: pino({ level: "silent" }) });
  const callerOf = addAccess(server, { callerOf: localCaller, mustBeAdmin: localCaller, feedbackBy: localCaller });
  const error = { code: "prompt_too_large", message: "shorten it" };
  const dependencies = {
    ...{ callerOf, clock: Date.now, streams: { heartbeatMs: 60_000, slowReaderMs: 60_000 } },
    arms: () => [{ name: "small", model: "m" }],
    ask: () => Promise.resolve(aResponse({ status: "failed", error: { ...error, param: null, retryAfterMs: null } })),
  };
  addChat(server, dependencies);
  addResponses(server, { ...dependencies, clickhouse: { query: () => Promise.resolve([]) } });
  for (const stream of [false, true]) {
    const answer = await server.inject({ method: "POST", url, payload: { model: "auto", stream, ...body } });
    expect([answer.statusCode, answer.json<object>()]).toMatchObject([
      400,
      { error: { ...error, code: "context_length_exceeded", param } },
    ]);
  }
  await server.close();
});
