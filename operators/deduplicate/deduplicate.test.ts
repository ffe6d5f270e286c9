import { describe, expect, it } from "vitest";
import { requestKey } from "../../algorithms/identity/identity.ts";
import { requestHash } from "../../algorithms/text/canonical.ts";
import { ClickHouseUnavailable } from "../../connections/clickhouse/port.ts";
import { aContext, NOW, validated } from "../values.testing.ts";
import type { Response } from "../../schemas/types.ts";
import { createFirstResponses, type FirstResponse, type FirstResponses } from "./first-responses.ts";
import { createLeaderOutcomes } from "../../state/response-cache/leader-outcomes.ts";
import { createDeduplicate } from "./deduplicate.ts";
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
const deduplicateWith = (find: FirstResponses["find"]) =>
  createDeduplicate({ seen: createSeenIds(), firstResponses: { find }, clock: () => NOW + 20, partitions: () => 8 });
const notSent = () => Promise.resolve(null);
const never: FirstResponses["find"] = () => Promise.reject(new Error("must not be asked"));

describe("deduplicate", () => {
  it("lets new requests pass as they are", async () => {
    const deduplicate = deduplicateWith(never);
    expect(await deduplicate(validated(), aContext())).toEqual({ kind: "ok", value: validated() });
  });

  it("refuses a repeat whose first response is no longer stored as it was sent", async () => {
    const deduplicate = deduplicateWith(() => Promise.resolve("gone"));
    await deduplicate(validated(), aContext());
    const again = validated({}, 9);
    expect(await deduplicate(again, aContext())).toMatchObject({
      kind: "refuse",
      code: "first_answer_gone",
      repeat: true,
    });
  });

  it("gives a repeat the copy of the first response, free and marked", async () => {
    const asked: unknown[] = [];
    const deduplicate = deduplicateWith((...question) => (asked.push(question), Promise.resolve(first)));
    await deduplicate(validated(), aContext());
    const result = await deduplicate(validated({ replyPartition: 4 }, 8), aContext());
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
    const deduplicate = deduplicateWith(() => answer());
    await deduplicate(validated(), aContext());
    const repeat = () => deduplicate(validated({}, 8), aContext());
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
    const deduplicate = deduplicateWith(never);
    await deduplicate(validated(), aContext());
    const refused = await deduplicate(validated(other, 8), aContext());
    expect(refused).toMatchObject({ kind: "refuse", code: "id_reused", repeat: true });
    // An offset would tell its tenant how much all the others send.
    expect(refused).toMatchObject({ message: expect.not.stringMatching(/offset|partition/) });
    const seen = createSeenIds();
    const position = { topic: "precedent.requests", partition: 2, offset: 1 };
    const known = { tenant: "acme", id: "r1", position, seenAt: NOW - 1 };
    seen.restore([{ ...known, hash: requestHash(validated().record) }]);
    const restored = createDeduplicate({
      ...{ seen, clock: () => NOW + 20, partitions: () => 8 },
      firstResponses: { find: () => Promise.resolve(first) },
    });
    expect(await restored(validated({}, 8), aContext())).toMatchObject({ kind: "finish" });
    expect(await restored(validated(other, 9), aContext())).toMatchObject({ kind: "refuse", code: "id_reused" });
  });

  it("does not take for a repeat: the same record again, another tenant's id, or a record without id", async () => {
    const deduplicate = deduplicateWith(never);
    for (const input of [validated(), validated(), validated({ tenant: "other" }, 9)])
      expect(await deduplicate(input, aContext())).toMatchObject({ kind: "ok" });
    for (const id of [null, ""]) {
      expect(await deduplicate(validated({ id }, 10), aContext())).toMatchObject({ kind: "ok" });
      expect(await deduplicate(validated({ id }, 11), aContext())).toMatchObject({ kind: "ok" });
    }
  });
});

describe("what ClickHouse knows", () => {
  it("is read as a response, with its error put together again", async () => {
    const row = { ...first, error: undefined, errorCode: "endpoint_timeout", errorMessage: "60 s" };
    const found = createFirstResponses({ query: <Row>() => Promise.resolve([row as Row]) }, notSent);
    expect(await found.find("acme", "r1", NOW)).toMatchObject({ error: { code: "endpoint_timeout", message: "60 s" } });
    const none = createFirstResponses({ query: <Row>() => Promise.resolve<Row[]>([]) }, notSent);
    expect(await none.find("acme", "r1", NOW)).toBeNull();
  });

  it("is read from its topic where the row has placeholders, and gone where that has it no more", async () => {
    const position = { topic: "p.responses", partition: 3, offset: "41" };
    const row = { ...first, text: "mail <EMAIL_123456789>", redacted: true, ...position };
    const clickhouse = { query: <Row>() => Promise.resolve([row as Row]) };
    const asked: unknown[] = [];
    const found = createFirstResponses(clickhouse, (...at) => {
      asked.push(at);
      return Promise.resolve({ ...first, text: "mail bob@x.org" } as Response);
    });
    expect(await found.find("acme", "r1", NOW)).toMatchObject({ text: "mail bob@x.org" });
    expect(asked).toEqual([[{ ...position, offset: 41 }, "acme", "r1"]]);
    expect(await createFirstResponses(clickhouse, notSent).find("acme", "r1", NOW)).toBe("gone");
    const outcomes = (text: string | null) =>
      createLeaderOutcomes(
        {
          query: <Row>() =>
            Promise.resolve([{ ...row, tenant: "acme", requestId: "r1", cost: 1, createdAt: NOW } as Row]),
        },
        () => Promise.resolve(text === null ? null : ({ text } as Response)),
      ).find([{ tenant: "acme", id: "r1", arrivedAt: NOW }], NOW);
    const key = requestKey("acme", "r1");
    expect((await outcomes("mail bob@x.org")).get(key)).toMatchObject({ answer: { text: "mail bob@x.org" } });
    expect((await outcomes(null)).get(key)).toEqual({ answer: null, createdAt: NOW });
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
