import { expect, test } from "vitest";
import type { Arm, ArmResult } from "../arms/arm.ts";
import { armRequest } from "../arms/request.testing.ts";
import { createCallMetrics } from "../runtime/metrics/calls.ts";
import { createMetricsRegistry } from "../runtime/metrics/stage.ts";
import { measureArm } from "./measured-arm.ts";
import { NO_USAGE } from "../schemas/no-usage.ts";

const answer: ArmResult = {
  ...{ kind: "answer", text: "yes", finishReason: "stop", model: "m", attempts: 1, queueMs: 5, firstTokenMs: 300 },
  usage: { ...NO_USAGE, prompt: 10, linked: 4, recomputed: 1, prefilled: 6, completion: 3 },
  cost: 0.5,
};
const armOf = (name: string, results: ArmResult[]): Arm => ({
  ...{ name, model: "m", concurrency: 1 },
  answer: () => Promise.resolve(results.shift() ?? answer),
  close: () => Promise.resolve(),
});

test("tokens, cost and time to the first token are counted by arm; a failure and an arm that does not stream have none", async () => {
  const registry = createMetricsRegistry();
  const failure: ArmResult = { kind: "failure", code: "stream_cut", message: "cut", attempts: 1, retriable: true };
  const unstreamed = { ...answer, firstTokenMs: null };
  const small = measureArm(armOf("small", [answer, failure, unstreamed]), createCallMetrics(registry));
  measureArm(armOf("idle", []), createCallMetrics(registry));
  const { signal } = new AbortController();
  for (let call = 0; call < 3; call++) await small.answer(armRequest(), signal);
  const text = await registry.metrics();
  expect(text).toContain('precedent_cost_total{arm="small"} 1\n');
  expect(text).toContain('precedent_cost_total{arm="idle"} 0\n');
  expect(text).toContain('precedent_tokens_total{arm="small",kind="prompt"} 20');
  expect(text).toContain('precedent_tokens_total{arm="small",kind="linked"} 8');
  expect(text).toContain('precedent_tokens_total{arm="small",kind="prefilled"} 12');
  expect(text).toContain('precedent_tokens_total{arm="small",kind="completion"} 6');
  expect(text).toContain('precedent_first_token_seconds_count{arm="small"} 1');
  expect(text).toContain('precedent_first_token_seconds_bucket{le="0.25",arm="small"} 0');
  expect(text).toContain('precedent_first_token_seconds_bucket{le="0.5",arm="small"} 1');
});
