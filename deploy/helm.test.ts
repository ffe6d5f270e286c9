// The chart can't be applied here (no cluster). What can be known without one is checked: values
// against their schema, the configuration against ours; and where helm is there (npm run
// check:deploy), what it renders against the schemas of Kubernetes, and names against our own.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { deployTools } from "../config/assets.ts";
import { parseConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { isInline } from "../config/sections/arms.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { allStageNames } from "../pipelines/up.ts";
import { groupName } from "../runtime/running-stage.ts";

const chart = fileURLToPath(new URL("helm", import.meta.url));
const read = (path: string): string => readFileSync(join(chart, path), "utf8");
const helm = join(deployTools(), "helm");
const schemas = join(deployTools(), "kubernetes_validate/kubernetes-json-schema/v1.31.0-local-strict");
const [hasHelm, hasSchemas] = [existsSync(helm), existsSync(schemas)];

interface Values {
  config: Record<string, unknown>;
  secrets: Record<string, { name: string; key: string }>;
  env?: Record<string, string>;
  files?: Record<string, object>;
  stages: Record<string, unknown>;
}
const defaults = parse(read("values.yaml")) as Values;
const operators = parse(read("examples/values-operators.yaml")) as Values;
const tenants = { ...defaults, config: { ...defaults.config, tenants: { acme: { principal: "User:acme" } } } };
const more = {
  env: { NODE_EXTRA_CA_CERTS: "/etc/precedent-files/ca/ca.crt" },
  files: { ca: { configMap: "vllm-ca" }, models: { claim: "models" } },
  serviceMonitor: { enabled: true },
};
const arms = [{ name: "vllm", type: "openai", baseUrl: "http://vllm/v1", model: "m" }];
const inline = { ...defaults, ...more, config: { ...defaults.config, arms } };
const givenJson = Object.entries({ ...more, "config.arms": arms }).flatMap(([key, value]) => [
  "--set-json",
  `${key}=${JSON.stringify(value)}`,
]);
const sets: [name: string, given: string[], values: Values][] = [
  ["the defaults", [], defaults],
  ["operators", ["-f", join(chart, "examples/values-operators.yaml")], { ...defaults, ...operators }],
  ["tenants with topics", ["--set", "config.tenants.acme.principal=User:acme"], tenants],
  ["inline arms alone, a CA and models", givenJson, inline],
];

const configOf = (text: string, secrets: Values["secrets"]): Config =>
  parseConfig(text, {
    ...{ source: "the ConfigMap", folder: "/etc/precedent" },
    environment: { HOSTNAME: "pod-1", ...Object.fromEntries(Object.keys(secrets).map((name) => [name, "a secret"])) },
  });

describe.each(sets)("values: %s", (_name, _given, values) => {
  const ajv = new Ajv({ strict: false });
  const isValid = ajv.compile(JSON.parse(read("values.schema.json")) as object);

  it("are as their schema says, and stages are those that there are", () => {
    expect(isValid(values), ajv.errorsText(isValid.errors)).toBe(true);
    expect(Object.keys(values.stages).sort()).toEqual([...allStageNames].sort());
  });

  it("hold a configuration whose keys exist, with secrets from Secrets", () => {
    expect(() => configOf(JSON.stringify(values.config), values.secrets)).not.toThrow();
  });

  it.each([
    ["the chart's own key", { config: { ...values.config, stack: { folder: "x" } } }],
    ["the gateway's port, which is the chart's", { config: { ...values.config, gateway: { port: 8000 } } }],
    ["no arm", { config: { ...values.config, arms: [] } }],
    ["no name of a variable", { secrets: { "a b": { name: "x", key: "y" } } }],
    ["an unknown stage", { stages: { ...values.stages, paln: { replicas: 1 } } }],
    ["no process", { stages: { ...values.stages, plan: { replicas: 0 } } }],
    ["a word for a boolean", { keda: { enabled: "yes" } }],
  ])("are refused where they are wrong: %s", (_what, wrong) => {
    expect(isValid({ ...values, ...wrong })).toBe(false);
  });
});

it("examples are YAML with a kind and a name each", () => {
  for (const name of readdirSync(join(chart, "examples")).filter((name) => !name.startsWith("values")))
    for (const document of parseAllDocuments(read(`examples/${name}`)))
      expect(document.toJS()).toMatchObject({ apiVersion: expect.any(String), metadata: { name: expect.any(String) } });
});

interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  data?: Record<string, string>;
  spec: Record<string, unknown>;
}

interface Mounted {
  name: string;
  emptyDir?: object;
  securityContext?: object;
  volumeMounts?: { name: string; mountPath: string }[];
}

function render(given: readonly string[]): Resource[] {
  const { stdout, stderr, status } = spawnSync(
    helm,
    ["template", "here", chart, "--kube-version", "1.31.0", ...given],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
}

const whole = z.string().regex(/^[1-9]\d*$/);
const scaledObject = z.strictObject({
  scaleTargetRef: z.strictObject({ name: z.string() }),
  minReplicaCount: z.number().int().min(1),
  maxReplicaCount: z.number().int(),
  cooldownPeriod: z.number().int(),
  triggers: z.array(
    z.discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("kafka"),
        metadata: z.strictObject({
          ...{ bootstrapServers: z.string(), topic: z.string(), consumerGroup: z.string(), lagThreshold: whole },
          ...{ offsetResetPolicy: z.enum(["earliest", "latest"]), allowIdleConsumers: z.enum(["true", "false"]) },
        }),
        authenticationRef: z.strictObject({ name: z.string() }).optional(),
      }),
      z.strictObject({
        ...{ type: z.literal("prometheus"), metricType: z.literal("Value") },
        metadata: z.strictObject({ serverAddress: z.url(), query: z.string(), threshold: z.string() }),
      }),
    ]),
  ),
});

describe.skipIf(!hasHelm).each(sets)("rendered (helm from npm run check:deploy): %s", (_name, given, values) => {
  const resources = hasHelm ? render(given) : [];
  const of = (kind: string): Resource[] => resources.filter((resource) => resource.kind === kind);
  const [configMap] = of("ConfigMap");
  const config = hasHelm ? configOf(configMap!.data!["precedent.yaml"]!, values.secrets) : undefined!;

  it("the pods read a configuration that is valid, and listen where their ports are", () => {
    expect(config).toMatchObject({ http: { port: 9464 }, gateway: { host: "0.0.0.0", port: 7717 }, instance: "pod-1" });
  });

  it("every stage with something to do is a Deployment whose selector finds its pods", () => {
    const tenanted = Object.keys(config.tenants).length > 0;
    const wanted = allStageNames.filter((stage) => tenanted || !["intake", "outlet"].includes(stage));
    expect(of("Deployment").map(({ metadata }) => metadata.name.replace("here-", ""))).toEqual(
      expect.arrayContaining(wanted),
    );
    for (const { spec } of of("Deployment")) {
      const { selector, template } = spec as {
        selector: { matchLabels: Record<string, string> };
        template: { metadata: { labels: object }; spec: { containers: { args: string[] }[] } };
      };
      expect(template.metadata.labels).toMatchObject(selector.matchLabels);
      expect(template.spec.containers[0]?.args.at(-1)).toBe(selector.matchLabels["app.kubernetes.io/component"]);
    }
  });

  it("a pod writes in its volumes alone", () => {
    const [{ spec } = { spec: {} }] = of("Deployment");
    const { containers, volumes } = (spec as { template: { spec: Record<"containers" | "volumes", Mounted[]> } })
      .template.spec;
    expect(containers[0]?.securityContext).toMatchObject({ readOnlyRootFilesystem: true });
    const writable = volumes.filter(({ emptyDir }) => emptyDir !== undefined).map(({ name }) => name);
    const mounts = containers[0]?.volumeMounts?.filter(({ name }) => writable.includes(name));
    expect(mounts?.map(({ mountPath }) => mountPath)).toEqual(["/var/lib/precedent/stack", "/tmp"]);
  });

  it("gateways alone wait before they end, and all have time to finish what is under way", () => {
    for (const { metadata, spec } of of("Deployment")) {
      const { containers, terminationGracePeriodSeconds: seconds } = (
        spec as { template: { spec: { containers: { lifecycle?: unknown }[]; terminationGracePeriodSeconds: number } } }
      ).template.spec;
      const waits = JSON.stringify(containers[0]?.lifecycle ?? null);
      expect(waits).toMatch(metadata.name.endsWith("-gateway") ? /preStop.*"sleep","5"/ : /^null$/);
      // Batches stop before requests do.
      expect(seconds).toBeGreaterThan(5 + (2 * config.limits.drainMs) / 1_000);
    }
  });

  it("hands environment and files to every stage, and names the job of the alerts", () => {
    const { env = {}, files = {} } = values;
    for (const { spec } of of("Deployment")) {
      const text = JSON.stringify(spec);
      for (const [name, value] of Object.entries(env)) expect(text).toContain(JSON.stringify({ name, value }));
      for (const name of Object.keys(files)) expect(text).toContain(`"mountPath":"/etc/precedent-files/${name}"`);
    }
    for (const { spec } of of("ServiceMonitor")) {
      const [service] = of("Service").filter(({ metadata }) => metadata.name.endsWith("-metrics"));
      expect(service?.metadata.labels[String(spec["jobLabel"])]).toBe("precedent");
    }
  });

  it("scaled objects watch what plan and generate read, and scale what is there", () => {
    const queued = config.arms.filter((arm) => !isInline(arm)).map(({ name }) => name);
    const { prefix } = config.kafka;
    const deployments = of("Deployment").map(({ metadata }) => metadata.name);
    const found = of("ScaledObject").map(({ spec }) => scaledObject.parse(spec));
    for (const { scaleTargetRef } of found) expect(deployments).toContain(scaleTargetRef.name);
    const watched = found.flatMap(({ triggers }) =>
      triggers.flatMap(({ type, metadata }) => (type === "kafka" ? [[metadata.topic, metadata.consumerGroup]] : [])),
    );
    const expected = [
      ...queued.map((arm) => [topicName(prefix, "work", arm), groupName(prefix, "generate", arm)]),
      [topicName(prefix, "requests"), groupName(prefix, "plan")],
    ];
    expect(watched).toEqual(found.length === 0 ? [] : expected);
  });

  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  it.skipIf(!hasSchemas)("is what Kubernetes 1.31 takes, without unknown fields", () => {
    // Schemas refer to each other by their $id.
    const schemaOf = (name: string): { $id: string } =>
      JSON.parse(readFileSync(join(schemas, name), "utf8")) as { $id: string };
    ajv.addSchema(schemaOf("_definitions.json"));
    const checkOf = (name: string): ValidateFunction => {
      const schema = schemaOf(name);
      return ajv.getSchema(schema.$id) ?? ajv.compile(schema);
    };
    const own = resources.filter(({ apiVersion }) => !/keda|coreos/.test(apiVersion));
    for (const resource of own) {
      // "apps/v1" of a Deployment: deployment-apps-v1.json; "v1" of a Service: service-v1.json.
      const version = resource.apiVersion.replace(/\.k8s\.io/, "").replace("/", "-");
      const isValid = checkOf(`${resource.kind.toLowerCase()}-${version}.json`);
      const name = `${resource.kind} ${resource.metadata.name}`;
      expect(isValid(resource), `${name}: ${ajv.errorsText(isValid.errors)}`).toBe(true);
    }
    // Shows that the schemas do reject unknown fields.
    const broken = structuredClone(of("Deployment")[0]!);
    broken.spec["replica"] = 2;
    expect(checkOf("deployment-apps-v1.json")(broken)).toBe(false);
    expect(own.length).toBeGreaterThan(12);
  });
});
