// Dashboards and alerts know only metrics and labels that exist: a renamed one fails here. The
// expressions are read by their words: names of metrics, labels in matchers and groupings.
import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { createBreakerMetrics } from "../state/breakers/metrics.ts";
import { createCallMetrics } from "../runtime/metrics/calls.ts";
import { createGatewayMetrics } from "../gateway/metrics.ts";
import { createHealthMetrics } from "../runtime/metrics/health.ts";
import { createJudgeMetrics } from "../operators/judge/metrics.ts";
import { createLoadMetrics } from "../state/load/metrics.ts";
import { createReplicaMetrics } from "../state/load/replica-metrics.ts";
import { createPolicyMetrics } from "../state/policies/metrics.ts";
import { createCacheMetrics } from "../state/response-cache/metrics.ts";
import { createReuseMetrics } from "../operators/route/metrics.ts";
import { createStageMetrics } from "../runtime/metrics/stage.ts";
import { createTracingMetrics } from "../runtime/metrics/tracing.ts";

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

/** By name: labels, with those of Prometheus and of histograms. */
function known(): Map<string, Set<string>> {
  const registry = new Registry();
  const pressing = { threshold: 0.5 };
  createStageMetrics(registry, "plan");
  createHealthMetrics(registry, () => ({}), 1);
  for (const create of [
    ...[createBreakerMetrics, createCacheMetrics, createCallMetrics, createGatewayMetrics],
    ...[createJudgeMetrics, createPolicyMetrics, createReplicaMetrics, createReuseMetrics, createTracingMetrics],
  ])
    create(registry);
  createLoadMetrics(registry, { load: pressing, saturation: pressing });
  const found = new Map<string, Set<string>>([["up", new Set(["job", "instance"])]]);
  for (const { name, type, labelNames = [] } of registry.getMetricsAsArray() as unknown as Instrument[]) {
    const labels = new Set([...labelNames, "job", "instance"]);
    if (String(type) !== "histogram") found.set(name, labels);
    else for (const part of ["sum", "count", "bucket"]) found.set(`${name}_${part}`, new Set([...labels, "le"]));
  }
  return found;
}
interface Instrument {
  name: string;
  type: unknown;
  labelNames?: string[];
}

const words = new Set(
  "sum min max avg count by without and or unless on ignoring rate increase deriv histogram_quantile last_over_time label_replace".split(
    " ",
  ),
);

/** What of an expression does not exist: metrics, and labels that none of its metrics has. */
function problems(expression: string, metrics: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const bare = expression.replace(/"[^"]*"/g, '""').replace(/\[\w+\]/g, "");
  const groupings = [...bare.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(","),
  );
  const rest = bare.replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, " ");
  const selectors = [...rest.matchAll(/([a-zA-Z_:]\w*)\s*(?:\{([^}]*)\})?/g)].filter(
    ([, name = ""]) => !words.has(name),
  );
  // Matchers are left out of what is looked through: their labels are no metrics.
  const used = [...rest.replace(/\{[^}]*\}/g, "").matchAll(/[a-zA-Z_:]\w*/g)]
    .map(([name]) => name)
    .filter((name) => !words.has(name));
  const labelsOfAll = new Set(used.flatMap((name) => [...(metrics.get(name) ?? [])]));
  return [
    ...used.filter((name) => !metrics.has(name)).map((name) => `no metric ${name}`),
    ...groupings
      .map((label) => label.trim())
      .filter((label) => !labelsOfAll.has(label))
      .map((label) => `no label ${label}`),
    ...selectors.flatMap(([, name = "", matchers = ""]) =>
      [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)]
        .filter(([, label = ""]) => metrics.get(name)?.has(label) === false)
        .map(([, label = ""]) => `${name} has no label ${label}`),
    ),
    ...(used.length === 0 ? ["no metric at all"] : []),
  ];
}

const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Precedent[A-Za-z]+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[smh]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(["page", "warn"]) }),
          annotations: z.strictObject({ summary: z.string() }),
        }),
      ),
    }),
  ),
});
const rules = rulesSchema.parse(parse(read("prometheus/prometheus-rules.yaml"))).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("grafana/dashboards/precedent.json")) as {
  panels: { title: string; datasource: { uid: string }; targets: { expr: string; legendFormat: string }[] }[];
};

describe("alerts and dashboards", () => {
  const metrics = known();

  it("find what does not exist", () => {
    expect(problems("rate(precedent_gone_total[5m])", metrics)).toEqual(["no metric precedent_gone_total"]);
    expect(problems("sum by (arm) (precedent_lag_records)", metrics)).toEqual(["no label arm"]);
    expect(problems('precedent_healthy{arm="a"} == 0', metrics)).toEqual(["precedent_healthy has no label arm"]);
    expect(problems('sum by (stage, le) (rate(precedent_operator_seconds_bucket{operator="x"}[5m]))', metrics)).toEqual(
      [],
    );
  });

  it.each(rules.map(({ alert, expr, annotations }) => [alert, expr, annotations.summary] as const))(
    "%s asks for metrics and labels that exist",
    (_alert, expr, summary) => {
      expect(problems(expr, metrics)).toEqual([]);
      for (const [, label = ""] of summary.matchAll(/\$labels\.(\w+)/g))
        expect(expr).toContain(label === "instance" ? "" : label);
    },
  );

  it.each(dashboard.panels.map(({ title, targets }) => [title, targets] as const))(
    "%s draws what exists",
    (_title, targets) => {
      for (const { expr } of targets) expect(problems(expr, metrics)).toEqual([]);
    },
  );

  it("have names of their own, and the data source that is provisioned", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const [source] = (parse(read("grafana/datasources/prometheus.yaml")) as { datasources: { uid: string }[] })
      .datasources;
    for (const { datasource } of dashboard.panels) expect(datasource.uid).toBe(source?.uid);
  });

  it("are fed by every stage of docker-compose.yml", () => {
    const compose = parse(read("../docker-compose.yml"), { merge: true }) as {
      services: Record<string, { build?: string }>;
    };
    const stages = Object.entries(compose.services).flatMap(([name, { build }]) => (build === undefined ? [] : [name]));
    const [scrape] = (
      parse(read("prometheus/prometheus.yaml")) as { scrape_configs: { dns_sd_configs: { names: string[] }[] }[] }
    ).scrape_configs;
    expect(scrape?.dns_sd_configs[0]?.names.toSorted()).toEqual(stages.toSorted());
  });
});
