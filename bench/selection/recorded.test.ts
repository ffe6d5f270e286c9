import { expect, test } from "vitest";
import { recordedPeersOf } from "./recorded.ts";

const run = { commit: "abc", date: "2026-01-01", machine: { cores: 2 } };
const full = {
  ...run,
  rows: [
    { data: "small", n: 10, stage1_p50_ms: 1, hnswlib_p50_ms: 2, usearch_rss_mib: 3, exact_p50_ms: 4 },
    { data: "none", stage1_p50_ms: 1, hnswlib_p50_ms: null },
  ],
};

test("the peers' figures of a run go along under its name, and nothing else of it", () => {
  const recorded = { ...run, rows: [{ data: "small", hnswlib_p50_ms: 2, usearch_rss_mib: 3 }] };
  expect(recordedPeersOf(full)).toEqual(recorded);
  expect(
    recordedPeersOf({ commit: "later", rows: [{ data: "small", hnswlib_p50_ms: null }], recorded_peers: recorded }),
  ).toEqual(recorded);
});

test("a run that measured none has none", () => {
  expect(recordedPeersOf({ ...run, rows: [{ data: "small", stage1_p50_ms: 1 }] })).toBe(null);
  expect(recordedPeersOf({ ...run })).toBe(null);
});
