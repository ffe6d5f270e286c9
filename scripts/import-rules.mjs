// Who may import what: the one table that the linter enforces (lint-imports.mjs) and
// CONTRIBUTING.md shows (npm run reference).

/** Programs of their own, which nothing but each other imports. */
const everything = "everything";

/**
 * Modules, from the bottom to the top. imports: other modules that it may import. only: of these
 * modules just files of these names. folders: "apart" where its folders import none of each other;
 * what several need lies beside them.
 */
export const modules = [
  { name: "schemas", about: "Avro and SQL: the contracts; `types.ts` is derived", imports: [] },
  {
    name: "algorithms",
    about: "pure mathematics: no clock, no random source, no I/O of its own",
    imports: ["schemas"],
  },
  { name: "config", about: "what `precedent.yaml` may say, and reading it: data only", imports: ["algorithms"] },
  { name: "native", about: "C++ addons over libfaiss and libllama, thin; no policy inside", imports: [] },
  {
    name: "connections",
    about: "services and native libraries behind ports named by our need",
    imports: ["schemas", "algorithms", "config"],
  },
  {
    name: "store",
    about: "the examples that a process holds (texts, ledger, snapshots) and their vector indexes (FAISS, exact)",
    imports: ["schemas", "algorithms", "connections"],
    only: { connections: ["port", "errors", "process/folder", "worker/rpc"] },
  },
  {
    name: "arms",
    about: "what can answer a request",
    imports: ["schemas", "algorithms", "config", "connections"],
  },
  {
    name: "runtime",
    about: "runs a pipeline exactly-once; knows no operator",
    imports: ["schemas", "algorithms", "connections"],
    only: { connections: ["port", "errors"] },
  },
  {
    name: "metrics",
    about: "gauges and histograms of stages, store, selection, caches and load; /metrics and /healthz",
    imports: ["algorithms", "connections", "store", "runtime"],
    only: { connections: ["port"], store: ["port"] },
  },
  {
    name: "policies",
    about: "codecs and versions of published policies, which learn, plan and people share",
    imports: ["schemas", "algorithms", "connections", "runtime"],
    only: { connections: ["port", "errors"] },
  },
  {
    name: "operators",
    about: "one verb, one folder; what several need lies beside the folders",
    imports: ["schemas", "algorithms", "config", "connections", "store", "arms", "runtime", "policies"],
    only: { connections: ["port", "errors"], store: ["port"], arms: ["arm", "cost"] },
    folders: "apart",
  },
  {
    name: "pipelines",
    about: "compositions of operators, with what each stage reads and writes; no logic",
    imports: ["schemas", "operators", "runtime"],
  },
  {
    name: "serving",
    about: "what goes on around the stages: sharing of examples, hot swap of models and arms, inventories, replay runs",
    imports: [
      ...["schemas", "algorithms", "config", "connections", "store", "arms"],
      ...["runtime", "metrics", "policies", "operators", "pipelines"],
    ],
    only: {
      connections: ["port", "errors", "kafka/retry"],
      store: ["port"],
      arms: ["arm", "linked/choice", "linked/history"],
    },
  },
  {
    name: "dashboard",
    about: "the web page and its queries; the gateway serves it through dashboard/port.ts",
    imports: ["schemas", "algorithms", "connections", "policies", "serving"],
    only: { connections: ["port", "errors"] },
  },
  {
    name: "gateway",
    about: "OpenAI-compatible HTTP front end: bodies, keys, streams; talks to Kafka like any client",
    imports: [
      ...["schemas", "algorithms", "config", "connections"],
      ...["runtime", "metrics", "pipelines", "serving", "dashboard"],
    ],
    only: { connections: ["port", "errors"], dashboard: ["port"] },
  },
  {
    name: "stack",
    about: "the embedded servers",
    imports: ["algorithms", "config", "connections"],
    only: { connections: ["process/identity", "process/lock"] },
  },
  {
    name: "scripts",
    about: "set-up, builds, generated files",
    imports: ["schemas", "algorithms", "config", "connections", "pipelines", "stack"],
  },
  {
    name: "jobs",
    about: "what runs now and then: trains the helpfulness model, makes a model",
    imports: ["schemas", "algorithms", "config", "connections", "scripts"],
  },
  {
    name: "assembly",
    about: "only wires: opens connections and puts pipelines on the runtime",
    imports: [
      ...["schemas", "algorithms", "config", "connections", "store", "arms"],
      ...[
        "runtime",
        "metrics",
        "policies",
        "operators",
        "pipelines",
        "serving",
        "dashboard",
        "gateway",
        "stack",
        "jobs",
      ],
    ],
  },
  {
    name: "cli",
    about: "one file a command",
    imports: [
      ...["schemas", "algorithms", "config", "connections", "store", "arms"],
      ...["runtime", "metrics", "policies", "operators", "pipelines", "serving", "gateway", "stack", "jobs"],
      ...["assembly", "scripts"],
    ],
    // Fetching what a configuration names.
    only: { scripts: ["models"] },
  },
  { name: "demo", about: "`npm run demo`: one file a scene", imports: everything },
  { name: "bench", about: "one folder a benchmark; its results", imports: everything },
];

/** Ports, which import only types of other ports beside them and of what lies under them. */
export const ports = ["connections/*/*port.ts", "store/*/port.ts"];

/**
 * Tests and what only they use: they may put an implementation behind a port, and import what they
 * like.
 */
export const tests = ["**/*.test.ts", "**/*.testing.ts", "test/**"];

/**
 * Native libraries and clients of services, the only places that may know them, and what others
 * use.
 */
export const packages = [
  {
    packages: ["kafkajs", "kafkajs/*"],
    within: ["connections/kafka/**", "stack/**", "bench/stage/plain-process.ts"],
    use: "the port connections/kafka/port.ts",
  },
  {
    packages: ["@kafkajs/confluent-schema-registry", "avsc"],
    within: ["connections/registry/**"],
    use: "the port connections/registry/port.ts",
  },
  {
    packages: ["@clickhouse/client"],
    within: ["connections/clickhouse/**"],
    use: "the port connections/clickhouse/port.ts",
  },
  {
    packages: ["chdb", "chdb/*"],
    within: ["stack/facade/**"],
    use: "ClickHouse over HTTP (connections/clickhouse/port.ts)",
  },
  { packages: ["faiss-node"], within: ["store/vectors/**"], use: "the port store/vectors/port.ts" },
  { packages: ["usearch", "hnswlib-node"], within: ["bench/**"], use: "the port store/vectors/port.ts" },
  {
    packages: ["lmdb"],
    within: ["store/examples/**", "connections/documents/**"],
    use: "a port (store/examples/port.ts, connections/documents/port.ts)",
  },
  {
    packages: ["onnxruntime-node"],
    within: ["connections/embedder/**", "connections/proxy/**"],
    use: "the ports connections/embedder/port.ts and connections/proxy/port.ts",
  },
  {
    packages: ["@huggingface/tokenizers"],
    within: ["connections/embedder/**"],
    use: "the port connections/embedder/port.ts",
  },
  { packages: ["openai", "eventsource-parser"], within: ["arms/**"], use: "the port arms/arm.ts" },
  {
    packages: ["@opentelemetry/*"],
    within: ["connections/tracing/**"],
    use: "the port connections/tracing/port.ts",
  },
  // Only their libraries are used, under our own addon.
  { packages: ["@node-llama-cpp/*"], within: ["connections/llama/**"], use: "connections/llama" },
  {
    // Native code that may crash: it belongs into the llama arm's own process, and into programs.
    packages: ["@huggingface/jinja", "**/connections/llama/*", "!**/connections/llama/port.ts"],
    within: ["connections/llama/**", "arms/**", "bench/**", "scripts/**", "cli/**"],
    use: "the port arms/arm.ts",
  },
  {
    // Policies that measurements reject are compared in benchmarks and never served.
    packages: ["**/research/*"],
    within: ["arms/linked/research/**", "bench/**"],
    use: "the policies of algorithms/link-policy.ts",
  },
  {
    packages: ["zod"],
    within: [
      "config/**",
      "cli/**",
      "arms/**",
      "policies/**",
      "operators/**",
      "schemas/**",
      "stack/**",
      "scripts/**",
      "demo/**",
      "gateway/**",
    ],
    use: "typed values",
  },
  { packages: ["yaml"], within: ["config/**"], use: "config/load.ts" },
  {
    packages: ["commander", "cli-table3"],
    within: ["cli/**", "bench/**"],
    use: "plain functions; only cli/ meets the terminal",
  },
  {
    packages: ["prom-client"],
    within: ["metrics/**"],
    use: "metrics/stage.ts and metrics/health.ts",
  },
  {
    packages: ["fastify"],
    within: ["metrics/**", "gateway/**"],
    use: "metrics/health.ts and gateway/server.ts",
  },
  { packages: ["preact", "preact/*", "uplot", "uplot/*"], within: ["dashboard/page/**"], use: "the page" },
];
