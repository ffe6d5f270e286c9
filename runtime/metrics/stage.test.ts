import { describe, expect, it } from "vitest";
import { whole } from "./port.ts";
import { createMetricsRegistry, createStageMetrics } from "./stage.ts";

describe("stage metrics", () => {
  it("gives every stage the same counters under its own label", async () => {
    const registry = createMetricsRegistry();
    for (const stage of ["plan", "generate"]) {
      const metrics = createStageMetrics(registry, stage);
      metrics.received(3);
      metrics.sent("responses", 2);
      metrics.dropped("undecodable");
      metrics.observe("embed", 4);
      metrics.observe(whole, 20);
      metrics.inFlight(7);
      metrics.lag(() => [{ topic: "requests", partition: 1, records: 12 }]);
    }
    const text = await registry.metrics();
    for (const stage of ["plan", "generate"]) {
      expect(text).toContain(`precedent_received_total{stage="${stage}"} 3`);
      expect(text).toContain(`precedent_sent_total{stage="${stage}",output="responses"} 2`);
      expect(text).toContain(`precedent_dropped_total{stage="${stage}",reason="undecodable"} 1`);
      expect(text).toContain(`precedent_operator_seconds_sum{stage="${stage}",operator="embed"} 0.004`);
      expect(text).toContain(`precedent_operator_seconds_count{stage="${stage}",operator="whole"} 1`);
      expect(text).toContain(`precedent_in_flight{stage="${stage}"} 7`);
      expect(text).toContain(`precedent_lag_records{stage="${stage}",topic="requests",partition="1"} 12`);
    }
  });

  it("shows untouched counters as zero and forgets the lag of lost partitions", async () => {
    const registry = createMetricsRegistry();
    const metrics = createStageMetrics(registry, "record");
    let lag = [{ topic: "responses", partition: 0, records: 5 }];
    metrics.lag(() => lag);
    expect(await registry.metrics()).toContain('topic="responses",partition="0"} 5');
    lag = [];
    const text = await registry.metrics();
    expect(text).toContain('precedent_received_total{stage="record"} 0');
    expect(text).not.toContain('topic="responses"');
  });

  it("adds up what the parts of a stage have under way; a part that begins anew has nothing", async () => {
    const registry = createMetricsRegistry();
    createStageMetrics(registry, "generate.a", "inline").inFlight(3);
    const stage = createStageMetrics(registry, "generate.a");
    stage.inFlight(2);
    expect(await registry.metrics()).toContain('precedent_in_flight{stage="generate.a"} 5');
    createStageMetrics(registry, "generate.a", "inline");
    expect(await registry.metrics()).toContain('precedent_in_flight{stage="generate.a"} 2');
  });

  it("keeps registries apart", async () => {
    const one = createMetricsRegistry();
    const other = createMetricsRegistry();
    createStageMetrics(one, "plan").received(1);
    createStageMetrics(other, "plan").received(5);
    expect(await one.metrics()).toContain('precedent_received_total{stage="plan"} 1');
    expect(await other.metrics()).toContain('precedent_received_total{stage="plan"} 5');
  });
});
