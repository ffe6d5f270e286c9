import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { testTracing } from "./tracing.testing.ts";
import type { SamplerOptions } from "./sampler.ts";

const ids = Array.from({ length: 400 }, () => randomBytes(16).toString("hex"));
const isExported = (options: Partial<SamplerOptions>, traceId: string, flag = "01"): boolean =>
  testTracing(options).follow(
    { traceparent: `00-${traceId}-${"1".repeat(16)}-${flag}` },
    { name: "a", kind: "process" },
  ).isRecorded;

describe("which traces are exported", () => {
  test("is the configured share, whatever the client's flag says", () => {
    const sampled = ids.filter((id) => isExported({ ratio: 0.25 }, id));
    expect(sampled.length).toBeGreaterThan(40);
    expect(sampled.length).toBeLessThan(170);
    expect(ids.filter((id) => isExported({ ratio: 0.25 }, id, "00"))).toEqual(sampled);
    expect(ids.some((id) => isExported({ ratio: 0 }, id))).toBe(false);
    expect(ids.every((id) => isExported({ ratio: 1 }, id, "00"))).toBe(true);
  });

  test("is others with another key", () => {
    const of = (key: string): string[] => ids.filter((id) => isExported({ ratio: 0.5, key }, id));
    expect(of("one")).toEqual(of("one"));
    expect(of("one")).not.toEqual(of("two"));
  });

  test("is what the client says where that is wanted; without a word of it, the share", () => {
    expect(isExported({ ratio: 0, followFlag: true }, ids[0]!, "01")).toBe(true);
    expect(isExported({ ratio: 1, followFlag: true }, ids[0]!, "00")).toBe(false);
    const tracing = testTracing({ ratio: 1, followFlag: true });
    expect(tracing.follow({}, { name: "a", kind: "server" }).isRecorded).toBe(true);
  });

  test("goes for the trace: a span below another is exported with it, and an unexported one hands on its trace", async () => {
    const tracing = testTracing({ ratio: 0 });
    const span = tracing.follow({}, { name: "a", kind: "server" });
    const below = span.child({ name: "b", kind: "send" });
    const [, traceId] = span.headers["traceparent"]!.split("-");
    expect(below.headers["traceparent"]).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    expect(below.isRecorded).toBe(false);
    below.end();
    span.end();
    expect(await tracing.ended()).toEqual([]);
  });
});
