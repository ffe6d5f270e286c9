import { expect, it } from "vitest";
import { firstTokens } from "./queue.ts";

const streams = { requests: 20_000, streams: 8, seed: 5 };

it("waits as queueing theory says: M/D/1 at half of the capacity", () => {
  // Mean wait: rho / (2 (1 - rho)) of the service time.
  const { ttftMs, lowMs, highMs } = firstTokens([{ firstMs: 60, wholeMs: 100 }], { rate: 5, ...streams });
  expect(ttftMs).toBeGreaterThan(107);
  expect(ttftMs).toBeLessThan(113);
  expect(lowMs).toBeLessThan(ttftMs);
  expect(highMs).toBeGreaterThan(ttftMs);
});

it("takes the first token's time alone where requests are far apart", () => {
  const { ttftMs } = firstTokens([{ firstMs: 60, wholeMs: 100 }], { rate: 0.001, ...streams });
  expect(ttftMs).toBeCloseTo(60, 1);
});

it("grows with the stream above the capacity", () => {
  const service = [{ firstMs: 60, wholeMs: 100 }];
  const after = (requests: number): number => firstTokens(service, { rate: 20, ...streams, requests }).ttftMs;
  expect(after(200) / after(100)).toBeGreaterThan(1.8);
});
