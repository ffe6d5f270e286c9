import { expect, test } from "vitest";
import { watchCollections } from "./collections.ts";

test("tells of the collections while it watches", async () => {
  const stop = watchCollections();
  let kept: number[][] = [];
  // 80 MB: no young generation is as large.
  for (let i = 0; i < 2_000; i++) kept = [...kept.slice(-3), Array.from({ length: 5_000 }, (_, k) => i + k)];
  const pauses = await stop();
  expect(kept).toHaveLength(4);
  expect(pauses.length).toBeGreaterThan(0);
  for (const pause of pauses) expect(pause).toBeGreaterThan(0);
  const seen = pauses.length;
  for (let i = 0; i < 2_000; i++) kept = [...kept.slice(-3), Array.from({ length: 5_000 }, (_, k) => i + k)];
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(pauses).toHaveLength(seen);
});
