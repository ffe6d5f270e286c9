import { expect, it } from "vitest";
import { boundsProblem } from "./bounds.ts";
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
