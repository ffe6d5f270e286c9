import OpenAI from "openai";
import { expect, it } from "vitest";
import type { Verdict } from "../../algorithms/queueing/breaker.ts";
import { armSchema, type OpenAiArmConfig } from "../../config/schema.ts";
import { armRequest } from "../request.testing.ts";
import { openAiProtocol, type Protocol } from "./protocol.ts";
import { callReplica } from "./replica-call.ts";
import type { Lease } from "./replicas/replicas.ts";

const baseUrl = "http://127.0.0.1:9/v1";
const config = armSchema.parse({ name: "large", type: "openai", baseUrl, model: "m" }) as OpenAiArmConfig;
const request = armRequest();

function called(protocol: Partial<Protocol>) {
  const ends: Verdict[] = [];
  const replica = {
    name: "a",
    baseUrl,
    dispatcher: undefined,
    apiKey: "k",
    headers: {},
  } as unknown as Lease["replica"];
  const whole = { ...openAiProtocol(config), ...protocol };
  const client = new OpenAI({
    ...{ baseURL: baseUrl, apiKey: "k", maxRetries: 0 },
    fetch: () => Promise.resolve(Response.json({ choices: [{ message: { content: "yes" }, finish_reason: "stop" }] })),
  });
  const result = callReplica(
    {
      ...{ config, protocol: whole, client, now: Date.now },
      replicas: { acquire: () => ({ replica, end: (verdict) => void ends.push(verdict) }) },
    },
    {
      ...{ request, prepared: whole.prepare(request), keyOf: () => "", tried: new Set<string>() },
      ...{ attempt: 1, ending: new AbortController().signal },
    },
  );
  return { result, ends };
}

it("reports an answer to the breaker once", async () => {
  const { result, ends } = called({});
  expect(await result).toMatchObject({ result: { text: "yes" }, replica: "a", isNew: true });
  expect(ends).toEqual(["success"]);
});

it("reports a bug to the breaker once, or its replica would stay taken", async () => {
  const { result, ends } = called({
    url() {
      throw new TypeError("no such address");
    },
  });
  await expect(result).rejects.toThrow("no such address");
  expect(ends).toEqual(["failure"]);
});
