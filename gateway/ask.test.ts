import { describe, expect, it, vi } from "vitest";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import { plainRequest } from "../schemas/plain-request.ts";
import type { Topic } from "../schemas/records.ts";
import type { Request } from "../schemas/types.ts";
import { createAsk, type AskOptions } from "./ask.ts";
import { requestIdFor } from "./idempotency.ts";
import { createConnectionLimit } from "./connection-limit.ts";
import { aResponse } from "./responses.testing.ts";
import { createSend } from "./send.ts";
import { createWaiting } from "./waiting.ts";

const topic = "requests" as Topic<"requests">;
function setUp({
  partition = (): number | undefined => 3,
  accepts = () => Promise.resolve(),
  most = 4,
  maxDeadlineMs = 5_000,
} = {}) {
  const waiting = createWaiting();
  const connectionLimit = createConnectionLimit(most);
  const produced: Request[] = [];
  const takenBack: string[] = [];
  const ask = createAsk({
    cancel: { gone: ({ requestId }) => void takenBack.push(requestId) },
    ...{ waiting, connectionLimit, topic, limits: { deadlineMs: 1_000, maxDeadlineMs }, clock: () => 7 },
    replyPartition: partition,
    codec: { encode: (_topic, record) => (produced.push(record as Request), Buffer.alloc(1)) },
    send: accepts,
  });
  const client = new AbortController();
  return {
    waiting,
    connectionLimit,
    produced,
    takenBack,
    client,
    ask: (change?: Partial<Request>, options: Partial<AskOptions> = {}) =>
      ask({ ...plainRequest("hello", {}), ...change, id: change?.id ?? "r1" }, { signal: client.signal, ...options }),
  };
}

describe("ask", () => {
  it("produces with its reply partition and resolves with the response that comes there", async () => {
    const { ask, waiting, produced, connectionLimit } = setUp();
    const asked = ask();
    expect(produced).toMatchObject([{ id: "r1", replyPartition: 3, createdAt: 7 }]);
    expect(waiting.has(3, "r1")).toBe(true);
    waiting.response(3, aResponse({ requestId: "other" }));
    waiting.response(2, aResponse({ text: "of another partition" }));
    waiting.response(3, aResponse({ tenant: "another's", text: "of another tenant" }));
    waiting.response(3, aResponse());
    expect(await asked).toMatchObject({ text: "ls -a" });
    expect([waiting.has(3, "r1"), waiting.openOn(3), connectionLimit.open()]).toEqual([false, 0, 0]);
  });

  it("lets a repeat of an open id wait along, and refuses another question under it", async () => {
    const { ask, waiting, produced } = setUp({ most: 8 });
    const both = [ask(), ask()];
    await expect(ask({ messages: [{ role: "user", content: "another" }] })).rejects.toMatchObject({ status: 422 });
    waiting.response(3, aResponse());
    expect((await Promise.all(both)).map(({ text }) => text)).toEqual(["ls -a", "ls -a"]);
    expect(produced).toHaveLength(1);
  });

  it("gives its slot back when the client goes, the brokers do not take it, or nothing comes", async () => {
    const gone = setUp();
    const asked = gone.ask();
    gone.client.abort(new Error("gone"));
    await expect(asked).rejects.toThrow("gone");
    const away = setUp({ accepts: () => Promise.reject(new Error("away")) });
    await expect(away.ask()).rejects.toThrow("away");
    const nowhere = setUp({ partition: () => undefined });
    await expect(nowhere.ask()).rejects.toMatchObject({ status: 503, retryAfter: 1 });
    vi.useFakeTimers();
    const silent = setUp();
    const late = silent.ask({ allow: { arms: null, maxCost: null, deadlineMs: 50, costWeight: null } });
    const refused = expect(late).rejects.toMatchObject({ status: 504, code: "no_response" });
    await vi.advanceTimersByTimeAsync(11_000);
    await refused;
    vi.useRealTimers();
    for (const { connectionLimit, waiting } of [gone, away, nowhere, silent])
      expect([connectionLimit.open(), waiting.has(3, "r1")]).toEqual([0, false]);
  });

  it("waits 310 s where the deadline is longer, and no longer than that", async () => {
    vi.useFakeTimers();
    try {
      const allow = { arms: null, maxCost: null, deadlineMs: 300_500, costWeight: null };
      const asked = setUp({ maxDeadlineMs: 900_000 });
      const refused = expect(asked.ask({ allow })).rejects.toMatchObject({ status: 504 });
      await vi.advanceTimersByTimeAsync(310_000);
      expect(asked.connectionLimit.open()).toBe(1);
      await vi.advanceTimersByTimeAsync(501);
      await refused;
    } finally {
      vi.useRealTimers();
    }
  });

  it("takes back what its last client has left, once the brokers have it; not what may be come back for", async () => {
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const left = setUp({ most: 8 });
    const other = new AbortController();
    const both = [left.ask(), left.ask({}, { signal: other.signal })].map((one) => one.catch(() => undefined));
    left.client.abort(new Error("gone"));
    await turn();
    expect(left.takenBack).toEqual([]);
    other.abort(new Error("gone"));
    await Promise.all(both);
    await turn();
    expect(left.takenBack).toEqual(["r1"]);
    const kept = setUp();
    const asked = kept.ask({}, { keep: true }).catch(() => undefined);
    kept.client.abort(new Error("gone"));
    await asked;
    const unsent = setUp({ accepts: () => Promise.reject(new Error("away")) });
    await unsent.ask().catch(() => undefined);
    const answered = setUp();
    const response = answered.ask();
    answered.waiting.response(3, aResponse());
    await response;
    await turn();
    expect([kept, unsent, answered].flatMap(({ takenBack }) => takenBack)).toEqual([]);
  });

  it("holds no more than it may, and leaves places to other tenants", async () => {
    const { ask, connectionLimit } = setUp({ most: 4 });
    const held = [ask({ id: "1" }), ask({ id: "2" })];
    await expect(ask({ id: "3" })).rejects.toMatchObject({ status: 429, retryAfter: 1 });
    held.push(ask({ id: "4", tenant: "b" }), ask({ id: "5", tenant: "c" }));
    await expect(ask({ id: "6", tenant: "d" })).rejects.toMatchObject({ status: 503, retryAfter: 1 });
    expect(connectionLimit.open()).toBe(4);
    for (const one of held) one.catch(() => undefined);
  });
});

describe("an Idempotency-Key", () => {
  it("stands for one id of its tenant", () => {
    const id = requestIdFor("a", "k");
    expect(requestIdFor("a", "k")).toBe(id);
    expect(new Set([id, requestIdFor("b", "k"), requestIdFor("a", "k2"), requestIdFor("a", undefined)]).size).toBe(4);
    for (const key of ["", "a b", "é", "x".repeat(256)])
      expect(() => requestIdFor("a", key)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe("send", () => {
  const message = (key: string): OutgoingMessage => ({ topic: "t", key, value: Buffer.alloc(1) });
  it("gathers what comes while the brokers take batches", async () => {
    const batches: (string | Buffer | null)[][] = [];
    const takers: (() => void)[] = [];
    const send = createSend(
      {
        send: (messages) => {
          batches.push(messages.map(({ key }) => key));
          return new Promise((resolve) => takers.push(resolve));
        },
      },
      1_000,
    );
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const sent = ["a", "b"].map((key) => send(message(key)));
    await turn();
    for (const key of ["c", "d", "e"]) {
      sent.push(send(message(key)));
      await turn();
    }
    sent.push(send(message("f")), send(message("g")));
    await turn();
    expect(batches).toEqual([["a", "b"], ["c"], ["d"], ["e"]]);
    takers[0]?.();
    await Promise.all(sent.slice(0, 2));
    await turn();
    expect(batches.at(-1)).toEqual(["f", "g"]);
    for (const take of takers) take();
    await Promise.all(sent);
  });
  it("says 503 when the brokers refuse, or take nothing in time", async () => {
    const refusing = createSend({ send: () => Promise.reject(new Error("away")) }, 1_000);
    await expect(refusing(message("a"))).rejects.toMatchObject({ status: 503, retryAfter: 2 });
    const silent = createSend({ send: () => new Promise<void>(() => undefined) }, 5);
    await expect(silent(message("a"))).rejects.toMatchObject({ status: 503, code: "kafka_unavailable" });
  });
});
