import { describe, expect, it } from "vitest";
import { requestKey } from "../../algorithms/identity/identity.ts";
import { requestHash } from "../../algorithms/text/canonical.ts";
import { ClickHouseUnavailable } from "../../connections/clickhouse/port.ts";
import { aContext, NOW, validated } from "../values.testing.ts";
import type { Response } from "../../schemas/types.ts";
import { createFirstResponses, type FirstResponse, type FirstResponses } from "./first-responses.ts";
import { createLeaderOutcomes } from "../../state/response-cache/leader-outcomes.ts";
import { createDeduplicate } from "./deduplicate.ts";
import { anotherRecord } from "../../runtime/step.ts";
import { createSeenIds } from "./seen.ts";

const first: FirstResponse = {
  attempt: 1,
  status: "ok",
  text: "ls -A",
  finishReason: "stop",
  stopSequence: "END",
  arm: "large",
  model: "m",
  source: "generated",
  exampleIds: ["e1"],
  passthrough: null,
  error: null,
  degraded: [],
};
/** The step with what it leaves to be done without a slot. */
const whole = (step: ReturnType<typeof createDeduplicate>) => async (input: ReturnType<typeof validated>) => {
  const outcome = await step(input, aContext());
  return outcome.kind === "elsewhere" ? outcome.go() : outcome;
};
const deduplicateWith = (find: FirstResponses["find"]) =>
  whole(
    createDeduplicate({ seen: createSeenIds(), firstResponses: { find }, clock: () => NOW + 20, partitions: () => 8 }),
  );
const notSent = () => Promise.resolve(null);
const never: FirstResponses["find"] = () => Promise.reject(new Error("must not be asked"));

describe("deduplicate", () => {
  it("lets new requests pass as they are", async () => {
    const deduplicate = deduplicateWith(never);
    expect(await deduplicate(validated())).toEqual({ kind: "ok", value: validated() });
  });

  it("refuses a repeat whose first response is no longer stored as it was sent", async () => {
    const deduplicate = deduplicateWith(() => Promise.resolve("gone"));
    await deduplicate(validated());
    const again = validated({}, 9);
    expect(await deduplicate(again)).toMatchObject({
      kind: "refuse",
      code: "first_answer_gone",
      repeat: true,
    });
  });

  it("gives a repeat the copy of the first response, free and marked", async () => {
    const asked: unknown[] = [];
    const deduplicate = deduplicateWith((...question) => (asked.push(question), Promise.resolve(first)));
    await deduplicate(validated());
    const result = await deduplicate(validated({ replyPartition: 4 }, 8));
    expect(asked).toEqual([["acme", "r1", NOW + 20]]);
    expect(result).toMatchObject({
      kind: "finish",
      emits: [
        {
          output: "responses",
          key: "r1",
          partition: 4,
          record: {
            requestId: "r1",
            text: "ls -A",
            stopSequence: "END",
            duplicate: true,
            cost: 0,
            createdAt: NOW + 20,
            exampleIds: ["e1"],
          },
        },
      ],
    });
  });

  it("waits while the first response is not there, or ClickHouse is down; then answers", async () => {
    let answer: () => Promise<FirstResponse | null> = () => Promise.resolve(null);
    const deduplicate = deduplicateWith(() => answer());
    await deduplicate(validated());
    const repeat = () => deduplicate(validated({}, 8));
    expect(await repeat()).toMatchObject({
      kind: "retryLater",
      cause: { message: expect.stringContaining("offset 7") },
    });
    answer = () => Promise.reject(new ClickHouseUnavailable("down"));
    expect(await repeat()).toMatchObject({ kind: "retryLater", cause: { name: "ClickHouseUnavailable" } });
    answer = () => Promise.resolve(first);
    expect(await repeat()).toMatchObject({ kind: "finish" });
  });

  it("leaves its slot to a repeat's lookup, in the pool of those that wait for another record", () => {
    const step = createDeduplicate({
      ...{ seen: createSeenIds(), clock: () => NOW, partitions: () => 8 },
      firstResponses: { find: () => Promise.reject(new Error("not before the slot is left")) },
    });
    expect(step(validated(), aContext())).toMatchObject({ kind: "ok" });
    const outcome = step(validated({}, 8), aContext());
    if (outcome instanceof Promise || outcome.kind !== "elsewhere") throw new Error("it keeps its slot");
    expect(outcome.pool).toBe(anotherRecord);
    expect(outcome.full()).toMatchObject({ kind: "refuse", code: "too_many_repeats", repeat: true });
  });

  it("refuses an id that comes again with another text, marked as a repeat; restored ids tell as well", async () => {
    const other = { messages: [{ role: "user" as const, content: "delete all files" }] };
    const deduplicate = deduplicateWith(never);
    await deduplicate(validated());
    const refused = await deduplicate(validated(other, 8));
    expect(refused).toMatchObject({ kind: "refuse", code: "id_reused", repeat: true });
    // An offset would tell its tenant how much all the others send.
    expect(refused).toMatchObject({ message: expect.not.stringMatching(/offset|partition/) });
    const seen = createSeenIds();
    const position = { topic: "precedent.requests", partition: 2, offset: 1 };
    const known = { tenant: "acme", id: "r1", position, seenAt: NOW - 1 };
    seen.restore([{ ...known, hash: requestHash(validated().record) }]);
    const restored = whole(
      createDeduplicate({
        ...{ seen, clock: () => NOW + 20, partitions: () => 8 },
        firstResponses: { find: () => Promise.resolve(first) },
      }),
    );
    expect(await restored(validated({}, 8))).toMatchObject({ kind: "finish" });
    expect(await restored(validated(other, 9))).toMatchObject({ kind: "refuse", code: "id_reused" });
  });

  it("does not take for a repeat: the same record again, another tenant's id, or a record without id", async () => {
    const deduplicate = deduplicateWith(never);
    for (const input of [validated(), validated(), validated({ tenant: "other" }, 9)])
      expect(await deduplicate(input)).toMatchObject({ kind: "ok" });
    for (const id of [null, ""]) {
      expect(await deduplicate(validated({ id }, 10))).toMatchObject({ kind: "ok" });
      expect(await deduplicate(validated({ id }, 11))).toMatchObject({ kind: "ok" });
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
});
