import { describe, expect, it } from "vitest";
import { requestHash } from "../../algorithms/canonical.ts";
import { ClickHouseUnavailable } from "../../connections/clickhouse/port.ts";
import { aContext, NOW, validated } from "../values.testing.ts";
import { createFirstResponses, type FirstResponse, type FirstResponses } from "./first-responses.ts";
import { createRecall } from "./recall.ts";
import { restoreSeen } from "./restore.ts";
import { createSeenIds } from "./seen.ts";

const first: FirstResponse = {
  attempt: 1,
  status: "ok",
  text: "ls -A",
  finishReason: "stop",
  arm: "large",
  model: "m",
  source: "generated",
  exampleIds: ["e1"],
  passthrough: null,
  error: null,
  degraded: [],
};
const recallWith = (find: FirstResponses["find"]) =>
  createRecall({ seen: createSeenIds(), firstResponses: { find }, clock: () => NOW + 20, partitions: () => 8 });
const never: FirstResponses["find"] = () => Promise.reject(new Error("must not be asked"));

describe("recall", () => {
  it("lets new requests pass as they are", async () => {
    const recall = recallWith(never);
    expect(await recall(validated(), aContext())).toEqual({ kind: "ok", value: validated() });
  });

  it("gives a repeat the copy of the first response, free and marked", async () => {
    const asked: unknown[] = [];
    const recall = recallWith((...question) => (asked.push(question), Promise.resolve(first)));
    await recall(validated(), aContext());
    const result = await recall(validated({ replyPartition: 4 }, 8), aContext());
    expect(asked).toEqual([["acme", "r1", NOW + 20]]);
    expect(result).toMatchObject({
      kind: "finish",
      emits: [
        {
          output: "responses",
          key: "r1",
          partition: 4,
          record: { requestId: "r1", text: "ls -A", duplicate: true, cost: 0, createdAt: NOW + 20, exampleIds: ["e1"] },
        },
      ],
    });
  });

  it("waits while the first response is not there, or ClickHouse is down; then answers", async () => {
    let answer: () => Promise<FirstResponse | null> = () => Promise.resolve(null);
    const recall = recallWith(() => answer());
    await recall(validated(), aContext());
    const repeat = () => recall(validated({}, 8), aContext());
    expect(await repeat()).toMatchObject({
      kind: "retryLater",
      cause: { message: expect.stringContaining("offset 7") },
    });
    answer = () => Promise.reject(new ClickHouseUnavailable("down"));
    expect(await repeat()).toMatchObject({ kind: "retryLater", cause: { name: "ClickHouseUnavailable" } });
    answer = () => Promise.resolve(first);
    expect(await repeat()).toMatchObject({ kind: "finish" });
  });

  it("refuses an id that comes again with another text, marked as a repeat; restored ids tell as well", async () => {
    const other = { messages: [{ role: "user" as const, content: "delete all files" }] };
    const recall = recallWith(never);
    await recall(validated(), aContext());
    const refused = await recall(validated(other, 8), aContext());
    expect(refused).toMatchObject({ kind: "refuse", code: "id_reused", repeat: true });
    // An offset would tell its tenant how much all the others send.
    expect(refused).toMatchObject({ message: expect.not.stringMatching(/offset|partition/) });
    const seen = createSeenIds();
    const position = { topic: "precedent.requests", partition: 2, offset: 1 };
    const known = { tenant: "acme", id: "r1", position, seenAt: NOW - 1 };
    seen.restore([{ ...known, hash: requestHash(validated().record) }]);
    const restored = createRecall({
      ...{ seen, clock: () => NOW + 20, partitions: () => 8 },
      firstResponses: { find: () => Promise.resolve(first) },
    });
    expect(await restored(validated({}, 8), aContext())).toMatchObject({ kind: "finish" });
    expect(await restored(validated(other, 9), aContext())).toMatchObject({ kind: "refuse", code: "id_reused" });
  });

  it("does not take for a repeat: the same record again, another tenant's id, or a record without id", async () => {
    const recall = recallWith(never);
    for (const input of [validated(), validated(), validated({ tenant: "other" }, 9)])
      expect(await recall(input, aContext())).toMatchObject({ kind: "ok" });
    for (const id of [null, ""]) {
      expect(await recall(validated({ id }, 10), aContext())).toMatchObject({ kind: "ok" });
      expect(await recall(validated({ id }, 11), aContext())).toMatchObject({ kind: "ok" });
    }
  });
});

describe("what ClickHouse knows", () => {
  it("is read as a response, with its error put together again", async () => {
    const row = { ...first, error: undefined, errorCode: "endpoint_timeout", errorMessage: "60 s" };
    const found = createFirstResponses({ query: <Row>() => Promise.resolve([row as Row]) });
    expect(await found.find("acme", "r1", NOW)).toMatchObject({ error: { code: "endpoint_timeout", message: "60 s" } });
    const none = createFirstResponses({ query: <Row>() => Promise.resolve<Row[]>([]) });
    expect(await none.find("acme", "r1", NOW)).toBeNull();
  });

  it("is read as positions; 64-bit numbers may come as text", async () => {
    const row = { tenant: "acme", id: "r1", partition: 2, offset: "9007199254740991", seenAt: "1700000000000" };
    const restored = await restoreSeen({ query: <Row>() => Promise.resolve([row as Row]) }, "p.requests", [2], NOW);
    const position = { topic: "p.requests", partition: 2, offset: 9007199254740991 };
    expect(restored).toEqual([{ tenant: "acme", id: "r1", position, seenAt: NOW }]);
    const unasked = () => Promise.reject(new Error("must not be asked"));
    expect(await restoreSeen({ query: unasked }, "p.requests", [], NOW)).toEqual([]);
  });
});
