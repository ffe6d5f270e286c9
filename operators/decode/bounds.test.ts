import { expect, it } from "vitest";
import { boundsProblem } from "./bounds.ts";
import { createDecode } from "./decode.ts";
import { recordedTopics, rowsOf } from "./rows.ts";
import { testingRecords } from "./records.testing.ts";

const { feedback, observations, requests } = testingRecords;
const position = { topic: "precedent.x", partition: 2, offset: 9, timestamp: Date.UTC(2026, 2, 1) };

it("keeps every usual record, and says what of feedback or an observation is too large", () => {
  for (const topic of recordedTopics) expect(boundsProblem(topic, testingRecords[topic])).toBeNull();
  expect(boundsProblem("feedback", { ...feedback, requestId: "x".repeat(257) })).toMatch(/requestId has 257 bytes/);
  expect(boundsProblem("feedback", { ...feedback, text: "x".repeat(1_048_577) })).toMatch(/text has 1048577 bytes/);
  const source = { ...observations.source, model: "x".repeat(300) };
  expect(boundsProblem("observations", { ...observations, source })).toMatch(/source.model has 300 bytes/);
  const request = { ...observations.request, metadata: { note: "x".repeat(70_000) } };
  expect(boundsProblem("observations", { ...observations, request })).toMatch(/metadata has 70004 bytes/);
});

it.each([
  [{ requestId: "" }, /^requestId is empty: feedback on a whole session goes to the gateway/],
  [{ kind: "like" as "thumbs" }, /^kind is "like", and it is one of thumbs, score, /],
  [{ kind: "Thumbs" as "thumbs" }, /^kind is "Thumbs"/],
  [{ source: "human" as "person" }, /^source is "human", and it is one of person, judge, system\.$/],
  [{ kind: "thumbs", value: null }, /^thumbs needs a value/],
  [{ kind: "reward", value: Number.NaN }, /^A value of reward is a number, and not NaN/],
  [{ kind: "score", value: 3, range: null }, /^A score needs range/],
  [{ kind: "score", value: 3, range: { low: 5, high: 5 } }, /^A score needs range/],
  [{ kind: "score", value: 3, range: { low: 1, high: Infinity } }, /^A score needs range/],
  [{ kind: "preference", value: 1, against: null }, /^preference needs against/],
  [{ kind: "comparison", value: 1, against: "" }, /^comparison needs against/],
  [{ kind: "correction", value: null, text: null }, /^A correction needs text/],
  // It would count as a correction of its own, as a reward of 0.
  [{ kind: "correction", value: null, text: null, withdraws: "f0" }, /^A correction needs text/],
  [{ session: "é".repeat(257) }, /^session has 514 bytes, and it may have 512\.$/],
] as const)("says why feedback can't count: %j", (change, why) => {
  expect(boundsProblem("feedback", { ...feedback, ...change })).toMatch(why);
});

it.each([
  { kind: "thumbs", value: null, withdraws: "f0" },
  { kind: "reward", value: 7 },
  { kind: "score", value: -3, range: { low: 6, high: 1 } },
  { kind: "comparison", value: -9, against: "large" },
  { kind: "correction", value: null, text: "ls -a" },
  { session: "x".repeat(512), sessionRequests: 3 },
  { id: "" },
] as const)("takes feedback that learn reads or clips: %j", (change) => {
  expect(boundsProblem("feedback", { ...feedback, ...change })).toBeNull();
});

it("names the tenant of what has no row, by which an erasure finds its dead letter", async () => {
  const decodeOf = (value: object) =>
    createDecode({ codec: { decode: () => Promise.resolve({ ok: true, value: value as never }) } })(
      ...(["feedback", { key: null, value: Buffer.from("x") }, position, AbortSignal.timeout(5_000)] as const),
    );
  const wrong = { ...feedback, tenant: "acme", requestId: "" };
  expect(await decodeOf(wrong)).toMatchObject({ ok: false, code: "out_of_bounds", tenant: "acme" });
  const long = await decodeOf({ ...wrong, tenant: "t".repeat(300) });
  expect(long).toMatchObject({ ok: false, tenant: expect.stringMatching(/^sha256:/) as string });
});

it("names the tenant of a request that can't be read as a whole", async () => {
  const envelope = { ...feedback, tenant: "acme" } as never;
  const codec = {
    decode: () => Promise.resolve({ ok: false, code: "undecodable", reason: "seed is beyond 2^52", envelope } as const),
  };
  const decode = createDecode({ codec });
  expect(
    await decode("requests", { key: null, value: Buffer.from("x") }, position, AbortSignal.timeout(5_000)),
  ).toMatchObject({ ok: false, code: "undecodable", tenant: "acme" });
});

it("names feedback without an id by its position: two of them are two", () => {
  const idAt = (id: string, offset: number) =>
    rowsOf.feedback({ ...feedback, id }, { ...position, offset })[0]?.rows[0];
  expect(idAt("", 9)).toMatchObject({ feedback_id: "precedent.x-2-9" });
  expect(idAt("", 10)).toMatchObject({ feedback_id: "precedent.x-2-10" });
  expect(idAt("f1", 10)).toMatchObject({ feedback_id: "f1" });
});

it("refuses an observation of a quality that there is not", () => {
  for (const quality of [null, 0, 0.5, 1])
    expect(boundsProblem("observations", { ...observations, quality })).toBeNull();
  for (const quality of [Number.NaN, -0.1, 1.1, 1e308, Number.NEGATIVE_INFINITY])
    expect(boundsProblem("observations", { ...observations, quality })).toMatch(
      /^quality is .*, and it lies in \[0, 1\]\.$/,
    );
});

it("a refused request has its row under short names and without its metadata; times are the broker's", () => {
  const arrivedAt = Date.UTC(2026, 5, 7);
  const huge = { ...requests, id: "x".repeat(9_999), tenant: "t".repeat(300), metadata: { note: "x".repeat(70_000) } };
  const tables = rowsOf.requests({ ...huge, createdAt: Date.UTC(2099, 0, 1) }, { ...position, arrivedAt });
  const row = tables.find(({ table: name }) => name === "requests")?.rows[0];
  expect(row).toMatchObject({
    request_id: expect.stringMatching(/^sha256:/),
    metadata: {},
    created_at: "2026-06-07 00:00:00.000",
    reported_at: "2099-01-01 00:00:00.000",
  });
  expect(String(row?.tenant)).toHaveLength(71);
  const late = rowsOf.decisions(
    { ...testingRecords.decisions, createdAt: Date.UTC(2099, 0, 1) },
    { ...position, arrivedAt },
  );
  for (const { rows } of late) for (const one of rows) expect(one.created_at).toBe("2026-06-07 00:00:00.000");
});
