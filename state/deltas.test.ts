import pino from "pino";
import { describe, expect, it, vi } from "vitest";
import type { Delta } from "../schemas/types.ts";
import { coalesce, publishDeltas } from "./deltas.ts";
import { createTenants } from "./tenants.ts";

const target = (requestId: string) => ({ requestId, tenant: "acme", partition: 2 });
function setUp() {
  const sent: string[][] = [];
  const ends: ((how: "taken" | "lost") => void)[] = [];
  const pieces = coalesce({
    clock: () => 7,
    mostWaiting: 10,
    send: (deltas) => {
      sent.push(deltas.map(({ requestId, attempt, index, text }) => `${requestId}/${attempt}/${index}:${text}`));
      return new Promise((resolve, reject) =>
        ends.push((how) => (how === "taken" ? resolve() : reject(new Error(how)))),
      );
    },
  });
  const end = async (how: "taken" | "lost" = "taken"): Promise<void> => {
    ends.shift()?.(how);
    await vi.advanceTimersByTimeAsync(30);
  };
  return { pieces, sent, end };
}

describe("pieces of answers", () => {
  it("go at once after a pause, then together, one send at a time", async () => {
    vi.useFakeTimers();
    const { pieces, sent, end } = setUp();
    const [a, b] = [pieces.open(target("a")), pieces.open(target("b"))];
    a.text("one", 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([["a/1/0:one"]]);
    for (const text of ["two", "three"]) a.text(text, 1);
    b.text("four", 1);
    await vi.advanceTimersByTimeAsync(100);
    expect(sent).toHaveLength(1);
    await end();
    expect(sent[1]).toEqual(["a/1/1:twothree", "b/1/0:four"]);
    a.text("again", 2);
    b.text("never sent", 1);
    b.end();
    await end("lost");
    expect(sent[2]).toEqual(["a/2/0:again"]);
    vi.useRealTimers();
  });

  it("of an answer that ends a moment later are sent before it ends", async () => {
    const { pieces, sent } = setUp();
    const a = pieces.open(target("a"));
    a.text("one", 1);
    a.text("two", 1);
    // As the next bytes of a socket come.
    await new Promise((resolve) => setImmediate(resolve));
    a.end();
    expect(sent).toEqual([["a/1/0:onetwo"]]);
  });

  it("are given up, with a gap that shows, where too much waits", async () => {
    vi.useFakeTimers();
    const { pieces, sent, end } = setUp();
    const a = pieces.open(target("a"));
    a.text("1", 1);
    await vi.advanceTimersByTimeAsync(1);
    a.text("12345678901", 1);
    a.text("more", 1);
    await end();
    expect(sent).toEqual([["a/1/0:1"]]);
    a.text("anew", 2);
    await vi.advanceTimersByTimeAsync(30);
    expect(sent[1]).toEqual(["a/2/0:anew"]);
    vi.useRealTimers();
  });

  it("of thoughts go together beside the text, and count for what may wait", async () => {
    const sent: Partial<Delta>[] = [];
    const pieces = coalesce({
      clock: () => 7,
      mostWaiting: 10,
      send: (deltas) => Promise.resolve(void sent.push(...deltas)),
    });
    const one = pieces.open(target("a"));
    const thoughts = (text: string) => ({ member: "reasoning", text });
    for (const text of ["I ", "think"]) one.text("", 1, [], [], thoughts(text));
    one.text("so", 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toMatchObject([{ text: "so", thoughts: thoughts("I think") }]);
    for (const text of ["12345", "678901"]) one.text("", 2, [], [], thoughts(text));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(sent).toHaveLength(1);
    pieces.stop();
  });

  it("of calls go together by call, and count for what may wait", async () => {
    vi.useFakeTimers();
    const sent: Delta[] = [];
    const send = (deltas: readonly Delta[]) => Promise.resolve(void sent.push(...deltas));
    const pieces = coalesce({ clock: () => 7, mostWaiting: 10, send });
    const a = pieces.open(target("a"));
    const none = { id: null, type: null, name: null };
    const head = { index: 0, id: "c", type: "function", name: "f", arguments: "" };
    a.text("", 1, [head]);
    a.text("", 1, [
      { index: 0, ...none, arguments: "{" },
      { ...head, index: 1, id: "d" },
    ]);
    a.text("x", 1, [{ index: 0, ...none, arguments: "}" }]);
    await vi.advanceTimersByTimeAsync(30);
    expect(sent).toMatchObject([
      {
        index: 0,
        text: "x",
        calls: [
          { ...head, arguments: "{}" },
          { ...head, index: 1, id: "d" },
        ],
      },
    ]);
    a.text("", 1, [{ index: 0, ...none, arguments: "12345678901" }]);
    await vi.advanceTimersByTimeAsync(30);
    expect(sent).toHaveLength(1);
    vi.useRealTimers();
  });
});

describe("published pieces", () => {
  /** A topic that is `refused` takes nothing. */
  async function publish(refused: readonly string[] = []) {
    const sent: string[] = [];
    const tenants = createTenants({ acme: { deltas: true }, beta: { deltas: false } });
    const session = {
      tenants,
      codec: { encode: (_topic: string, { text }: Delta) => Buffer.from(text) },
      topic: (name: string, owner = "") => `${name} ${owner}`,
      kafka: {
        spans: () => Promise.resolve([0, 1, 2, 3]),
        plainProducer: () => ({
          send(messages: readonly { topic: string; partition: number; value: Buffer }[]) {
            for (const { topic, partition, value } of messages) sent.push(`${topic}/${partition}:${String(value)}`);
            const isRefused = messages.some(({ topic }) => refused.includes(topic));
            return isRefused ? Promise.reject(new Error("refused")) : Promise.resolve();
          },
          close: () => Promise.resolve(),
        }),
      },
    } as unknown as Parameters<typeof publishDeltas>[0];
    const deltas = await publishDeltas(session, pino({ level: "silent" }));
    const say = async (tenant: string, text: string): Promise<void> => {
      const sink = deltas.open({ requestId: text, tenant, partition: 2 });
      sink.text(text, 1);
      await vi.waitUntil(() => sent.some((one) => one.endsWith(`:${text}`)));
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { sent, say, tenants, stop: deltas.stop };
  }

  it("are copied for the tenant that asks for them, and for no other", async () => {
    const { sent, say, stop } = await publish();
    await say("acme", "one");
    await say("beta", "two");
    await say("gamma", "three");
    expect(sent.sort()).toEqual(["deltas /2:one", "deltas /2:three", "deltas /2:two", "tenant-deltas acme/2:one"]);
    await stop();
  });

  it("are copied for a tenant that asks for them while the process runs, and no more when it does not", async () => {
    const { sent, say, tenants, stop } = await publish();
    tenants.replace({ acme: { deltas: false }, beta: { deltas: true } });
    // Meanwhile its topic is looked at.
    await say("beta", "one");
    await vi.waitFor(async () => {
      await say("beta", "two");
      expect(sent).toContain("tenant-deltas beta/2:two");
    });
    await say("acme", "three");
    expect(sent.filter((one) => one.startsWith("tenant-deltas acme"))).toEqual([]);
    await stop();
  });

  it("reach the gateways also where the copy is refused", async () => {
    const { sent, say, stop } = await publish(["tenant-deltas acme"]);
    for (const text of ["one", "two"]) await say("acme", text);
    expect(sent.filter((one) => one.startsWith("deltas "))).toEqual(["deltas /2:one", "deltas /2:two"]);
    await stop();
  });
});
