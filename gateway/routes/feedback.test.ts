// Feedback over HTTP with a key and with the token of a response: a token gives what a person says
// of its own request, and nothing else.
import pino from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import type { Feedback } from "../../schemas/types.ts";
import { addAccess, createAccess, createAdminAccess, createTokenAccess } from "../access.ts";
import { createFeedbackTokens } from "../feedback-token.ts";
import { newKey } from "../keys/key.ts";
import { mostTokens, noSpendLimits, plainKey } from "../keys/key.testing.ts";
import { createKeyTable } from "../keys/table.ts";
import { createConnectionLimit } from "../connection-limit.ts";
import { aResponse } from "../responses.testing.ts";
import { createServer } from "../server.ts";
import { addChat } from "./chat.ts";
import { addFeedback } from "./feedback.ts";

const time = { now: 1_000 };
const options = { lifeMs: 60_000, now: () => time.now };
const tokens = createFeedbackTokens({ secret: "a secret of this deployment alone", ...options });
const { id, text: key, hash } = newKey();

function setUp(made: typeof tokens | undefined) {
  const sent: Feedback[] = [];
  const found: { id: string }[] = [];
  /** Requests that the withdrawn outcome is on. */
  const given: { id: string }[] = [];
  const asked: object[] = [];
  const server = createServer({ maxBodyBytes: 65_536, slowReaderMs: 60_000, log: pino({ level: "silent" }) });
  const keys = createKeyTable({
    now: options.now,
    clock: options.now,
    gateways: () => 1,
    holdSpending: noSpendLimits,
    mostTokens,
  });
  keys.apply(id, plainKey({ id, hash, tenant: "acme" }));
  const access = createAccess(keys);
  const callerOf = addAccess(server, {
    ...{
      callerOf: access,
      mustBeAdmin: createAdminAccess(keys),
      feedbackBy: createTokenAccess({ tokens: made, keys }, access),
    },
  });
  addFeedback(server, {
    clickhouse: {
      query: (text, parameters) => (
        asked.push(parameters ?? {}),
        Promise.resolve((text.includes("FROM feedback") ? given : found) as never)
      ),
    },
    ...{ callerOf, connectionLimit: createConnectionLimit(4), clock: options.now, topic: "feedback" as never },
    codec: { encode: (_name, record) => (sent.push(record as Feedback), Buffer.alloc(0)) },
    send: () => Promise.resolve(),
    redactSecret: "a secret of sixteen",
  });
  addChat(server, {
    ...{ callerOf, clock: options.now, tokens: made, streams: { heartbeatMs: 60_000, slowReaderMs: 60_000 } },
    arms: () => [{ name: "small", model: "small-1" }],
    ask: (request) => Promise.resolve(aResponse({ requestId: request.id, tenant: request.tenant })),
  });
  const post = (url: string, bearer: string, payload: object, headers = {}) =>
    server.inject({ method: "POST", url, payload, headers: { authorization: `Bearer ${bearer}`, ...headers } });
  const give = (bearer: string, body: object = {}) =>
    post("/v1/feedback", bearer, { request_id: "r1", kind: "thumbs", value: 1, ...body });
  const revoke = () => keys.apply(id, plainKey({ id, hash, tenant: "acme", revokedAt: time.now }));
  return { sent, post, give, revoke, found, given, asked };
}
const allowed = (tenant: string, requestId: string) => ({ tenant, requestId, keyId: id });

let { sent, post, give, revoke, found, given, asked } = setUp(tokens);
beforeEach(() => {
  time.now = 1_000;
  ({ sent, post, give, revoke, found, given, asked } = setUp(tokens));
});
const code = (answer: { json(): unknown }): unknown => (answer.json() as { error: { code: string } }).error.code;

describe("the token of an answer", () => {
  it.each([false, true])(
    "comes with it (stream: %s) and gives feedback on it, always under the author feedback-token",
    async (stream) => {
      const body = { model: "auto", stream, messages: [{ role: "user", content: "hi" }] };
      const { headers } = await post("/v1/chat/completions", key, body);
      const requestId = headers["x-precedent-request-id"];
      const token = String(headers["x-precedent-feedback-token"]);
      const answer = await give(token, { request_id: `chatcmpl-${String(requestId)}`, author: "another" });
      expect(answer.statusCode).toBe(202);
      expect(sent).toMatchObject([{ tenant: "acme", requestId, source: "person", author: "feedback-token" }]);
    },
  );

  it("allows nothing else: no other request, source, reward or withdrawal, and no other address", async () => {
    const token = tokens.make(allowed("acme", "r1"));
    for (const wrong of [
      { request_id: "r2" },
      { source: "judge" },
      { source: "system" },
      { kind: "reward", value: 1 },
      { withdraws: "f1" },
    ]) {
      const answer = await give(token, wrong);
      expect([answer.statusCode, code(answer)], JSON.stringify(wrong)).toEqual([403, "feedback_not_allowed"]);
    }
    const asked = await post("/v1/chat/completions", token, {
      model: "auto",
      messages: [{ role: "user", content: "hi" }],
    });
    expect([asked.statusCode, code(asked)]).toEqual([401, "invalid_api_key"]);
    expect(sent).toEqual([]);
  });

  it("is refused when it is forged, of another deployment, or has ended", async () => {
    const token = tokens.make(allowed("acme", "r1"));
    const stranger = createFeedbackTokens({ secret: "the secret of another deployment", ...options });
    const crossed = `${tokens.make(allowed("other", "r1")).split(".")[0]}.${token.split(".")[1]}`;
    time.now += 60_000;
    for (const wrong of [token, crossed, stranger.make(allowed("acme", "r1")), "pft-", "pft-x.y"]) {
      const answer = await give(wrong);
      expect([answer.statusCode, code(answer)], wrong).toEqual([401, "invalid_feedback_token"]);
    }
    expect(sent).toEqual([]);
  });

  it("ends with the key that asked; one that was made without keys does not", async () => {
    const body = { model: "auto", messages: [{ role: "user", content: "hi" }] };
    const { headers } = await post("/v1/chat/completions", key, body);
    const token = String(headers["x-precedent-feedback-token"]);
    const about = { request_id: headers["x-precedent-request-id"] };
    const unknown = tokens.make({ ...allowed("acme", "r1"), keyId: "prk-000000000000" });
    const before = tokens.make({ ...allowed("default", "r1"), keyId: null });
    expect((await give(token, about)).statusCode).toBe(202);
    revoke();
    for (const one of [await give(token, about), await give(unknown)])
      expect([one.statusCode, code(one)]).toEqual([401, "invalid_feedback_token"]);
    expect((await give(before)).statusCode).toBe(202);
    expect(sent.map(({ tenant }) => tenant)).toEqual(["acme", "default"]);
  });

  it("is its own tenant's, whatever other tenants have requests of that id", async () => {
    await give(tokens.make(allowed("other", "r1")));
    expect(sent.map(({ tenant }) => tenant)).toEqual(["other"]);
  });

  it("is taken 20 times, and that of another request still is then", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 22; i++) statuses.push((await give(tokens.make(allowed("acme", "r1")))).statusCode);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 202), 429, 429]);
    expect((await give(tokens.make(allowed("acme", "r2")), { request_id: "r2" })).statusCode).toBe(202);
    expect((await give(key)).statusCode).toBe(202);
  });

  it("without a secret there is none, and none is valid", async () => {
    const bare = setUp(undefined);
    const { headers } = await bare.post("/v1/chat/completions", key, {
      model: "auto",
      messages: [{ role: "user", content: "hi" }],
    });
    expect(headers).toHaveProperty("x-precedent-request-id");
    expect(headers).not.toHaveProperty("x-precedent-feedback-token");
    expect((await bare.give(tokens.make(allowed("acme", "r1")))).statusCode).toBe(401);
    expect((await bare.give(key)).statusCode).toBe(202);
  });
});

describe("the header x-precedent-session", () => {
  const ask = (session: string) =>
    post(
      "/v1/chat/completions",
      key,
      { model: "auto", messages: [{ role: "user", content: "hi" }] },
      { "x-precedent-session": session },
    );
  it.each([
    ["a name", "visit 7", 200],
    ["nothing", "", 200],
    ["512 characters", "x".repeat(512), 200],
    ["more characters than feedback can name", "x".repeat(513), 400],
    ["bytes that are not ASCII", "caf\u00e9", 400],
    ["a tab", "a\tb", 400],
  ])("may have %s or not", async (_name, session, status) => {
    expect((await ask(session)).statusCode).toBe(status);
  });
});

describe("the outcome of a session", () => {
  const outcome = { request_id: undefined, session: "visit 7" };

  it("is shared over its requests, each under the same id", async () => {
    found.push({ id: "r1" }, { id: "r2" });
    const answer = await give(key, { ...outcome, id: "f1" });
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { id: "f1", object: "feedback", session: "visit 7", requests: 2 },
    ]);
    const shared = { id: "f1", tenant: "acme", value: 1, session: "visit 7", sessionRequests: 2 };
    expect(sent).toMatchObject([
      { ...shared, requestId: "r1" },
      { ...shared, requestId: "r2" },
    ]);
    const redacted = expect.stringMatching(/^session-[0-9a-f]{16}$/);
    expect(asked).toEqual([{ tenant: "acme", session: "visit 7", redacted, domains: [] }]);
  });

  it("is withdrawn from all of them", async () => {
    found.push({ id: "r1" }, { id: "r2" });
    await give(key, { ...outcome, value: undefined, withdraws: "f1" });
    expect(sent.map(({ requestId, withdraws }) => [requestId, withdraws])).toEqual([
      ["r1", "f1"],
      ["r2", "f1"],
    ]);
  });

  it("is withdrawn from requests that are no longer among the newest, and a new value is not theirs", async () => {
    found.push({ id: "r2" }, { id: "r3" });
    given.push({ id: "r1" }, { id: "r2" });
    await give(key, { ...outcome, value: 1, withdraws: "f1" });
    expect(sent.map(({ requestId, withdraws, value }) => [requestId, withdraws, value])).toEqual([
      ["r2", "f1", 1],
      ["r3", "f1", 1],
      ["r1", "f1", null],
    ]);
    found.length = 0;
    expect((await give(key, { ...outcome, value: undefined, withdraws: "f1" })).statusCode).toBe(202);
    expect(asked.at(-1)).toMatchObject({ tenant: "acme", session: "visit 7", domains: [], withdraws: "f1" });
  });

  it.each([
    ["nothing of it is recorded", outcome, 404, "session_not_found"],
    ["a request is named, too", { session: "visit 7" }, 400, "invalid_value"],
    ["neither is named", { request_id: undefined }, 400, "invalid_value"],
    ["it is about one answer", { ...outcome, kind: "correction", value: undefined, text: "so" }, 400, "invalid_value"],
    ["it compares", { ...outcome, kind: "preference", against: "large" }, 400, "invalid_value"],
    ["its name is empty", { ...outcome, session: "" }, 400, "invalid_value"],
  ])("is refused where %s", async (_name, body, status, expected) => {
    const answer = await give(key, body);
    expect([answer.statusCode, code(answer)]).toEqual([status, expected]);
    expect(sent).toEqual([]);
  });

  it("needs a key: a token speaks for its one request", async () => {
    found.push({ id: "r1" });
    const answer = await give(tokens.make(allowed("acme", "r1")), outcome);
    expect([answer.statusCode, code(answer)]).toEqual([403, "feedback_not_allowed"]);
  });
});
