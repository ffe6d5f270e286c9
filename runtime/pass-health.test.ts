import { expect, test } from "vitest";
import { watchPasses } from "./pass-health.ts";

test("a pass that fails for too long is reported with its error, until one passes or the task is over", () => {
  let time = 0;
  const passes = watchPasses({ stalledAfterMs: 10_000, now: () => time });
  const [router, threshold] = [passes.of("router"), passes.of("threshold")];
  expect(passes.report()).toEqual({});
  router.failed(new Error("ClickHouse is away"));
  time = 10_000;
  router.failed(new Error("ClickHouse is still away"));
  threshold.failed(new Error("no"));
  expect(passes.report()).toEqual({ stalledMs: 10_000 });
  time = 11_000;
  expect(passes.report()).toMatchObject({
    stalledMs: 11_000,
    problems: [expect.stringMatching(/^router: no progress for 11 s .*ClickHouse is still away/)],
  });
  router.passed();
  expect(passes.report()).toEqual({ stalledMs: 1_000 });
  passes.clear();
  expect(passes.report()).toEqual({});
});

test("a pass that does not end is reported after ten times the limit", () => {
  let time = 0;
  const passes = watchPasses({ stalledAfterMs: 10_000, now: () => time });
  const router = passes.of("router");
  router.began();
  time = 100_000;
  expect(passes.report()).toEqual({});
  time = 101_000;
  expect(passes.report()).toEqual({
    stalledMs: 101_000,
    problems: [expect.stringMatching(/^router: no progress for 101 s .*a pass does not end/)],
  });
  router.passed();
  expect(passes.report()).toEqual({});
});
