// Who may import what: the one table that the linter enforces (lint-imports.mjs) and
// CONTRIBUTING.md shows (npm run reference).

/** Programs that nothing else imports. */
const everything = "everything";

/**
 * Modules, from the bottom to the top: each imports only modules above it in this list. imports:
 * other modules that it may import. only: of these modules just files of these names. folders:
 * "apart" where its folders import none of each other; what several need lies beside them.
 */
export const modules = [
  { name: "schemas", about: "Avro and SQL: the contracts; `types.ts` is derived", imports: [] },
  {
    name: "algorithms",
    about: "pure mathematics by subject: no clock, no random source, no I/O of its own",
    imports: ["schemas"],
  },
  { name: "config", about: "what `precedent.yaml` may say, and reading it: data only", imports: ["algorithms"] },
  { name: "native", about: "C++ addons over libfaiss and libllama, thin; no policy inside", imports: [] },
  {
    name: "connections",
    about: "adapters of services and native libraries behind ports",
    imports: ["schemas", "algorithms", "config"],
  },
  {
    name: "stack",
    about: "the embedded servers",
    imports: ["algorithms", "config", "connections"],
    only: {
      connections: [
        "errors",
        "process/identity",
        "process/lock",
        "process/prefetched",
        "security/local-host",
        "http/guard",
      ],
    },
  },
  {
    name: "arms",
    about: "what answers a request: models behind APIs or in this process, recorded and reused answers",
    imports: ["schemas", "algorithms", "config", "connections"],
  },
  {
    name: "runtime",
    about: "exactly-once delivery, retries, outputs, health; metrics and traces of stages",
    imports: ["schemas", "algorithms", "connections"],
    only: { connections: ["port", "errors", "http/guard", "security/local-host"] },
  },
  {
    name: "state",
    about: "what stages follow, hold or share while they run: examples, vectors, policies, caches, breakers, load",
    imports: ["schemas", "algorithms", "config", "connections", "arms", "runtime"],
    only: {
      connections: ["port", "errors", "in-time", "kafka/retry", "process/folder", "worker/rpc"],
      arms: ["arm", "routed", "linked/build", "linked/choice", "linked/history"],
    },
  },
  {
    name: "operators",
    about: "one verb, one folder: the step, its test and its metrics; what several need lies beside the folders",
    imports: ["schemas", "algorithms", "config", "connections", "arms", "runtime", "state"],
    only: {
      connections: ["port", "errors", "in-time", "lines"],
      arms: ["arm", "cost", "routed", "serves", "settings", "templates"],
    },
    folders: "apart",
  },
  {
    name: "gateway",
    about: "HTTP: the APIs of OpenAI and Anthropic, keys, streams, the web page; talks to Kafka like any client",
    imports: ["schemas", "algorithms", "config", "connections", "runtime", "state"],
    only: { connections: ["port", "errors", "http/guard", "security/local-host"] },
  },
  {
    name: "pipelines",
    about: "one folder a stage: its composition (pipeline.ts) and its wiring (start.ts)",
    imports: [
      ...["schemas", "algorithms", "config", "connections", "stack", "arms"],
      ...["runtime", "state", "operators", "gateway"],
    ],
  },
  {
    name: "analysis",
    about: "what reads the log: off-policy evaluation, log replay, import, forgetting, synthesis",
    imports: [
      ...["schemas", "algorithms", "config", "connections", "stack", "arms"],
      ...["runtime", "state", "operators", "pipelines"],
    ],
  },
  {
    name: "cli",
    about: "one file a command",
    imports: [
      ...["schemas", "algorithms", "config", "connections", "stack", "arms"],
      ...["runtime", "state", "operators", "gateway", "pipelines", "analysis"],
    ],
  },
  { name: "tools", about: "set-up, builds, generators, training jobs, the demo", imports: everything },
  { name: "bench", about: "one folder a benchmark; its results", imports: everything },
];

/** Ports, which import only types of other ports beside them and of what lies under them. */
export const ports = ["connections/*/*port.ts", "state/*/port.ts"];

/** What a stage is made of, apart from how that is opened: no connection, no server, no file. */
export const compositions = {
  files: "pipelines/*/pipeline.ts",
  imports: ["schemas", "operators", "runtime"],
};

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
  {
    packages: ["@zilliz/milvus2-sdk-node"],
    within: ["connections/milvus/**"],
    use: "the port connections/milvus/port.ts",
  },
  { packages: ["usearch", "hnswlib-node"], within: ["bench/**"], use: "the port state/vectors/port.ts" },
  {
    packages: ["lmdb"],
    within: ["state/examples/**", "connections/documents/**"],
    use: "a port (state/examples/port.ts, connections/documents/port.ts)",
  },
  {
    packages: ["onnxruntime-node"],
    within: ["connections/embedder/**", "connections/helpfulness/**"],
    use: "the ports connections/embedder/port.ts and connections/helpfulness/port.ts",
  },
  {
    packages: ["@huggingface/tokenizers"],
    within: ["connections/embedder/**"],
    use: "the port connections/embedder/port.ts",
  },
  { packages: ["openai", "eventsource-parser", "undici"], within: ["arms/**"], use: "the port arms/arm.ts" },
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
    within: ["connections/llama/**", "arms/**", "bench/**", "tools/**", "cli/**"],
    use: "the port arms/arm.ts",
  },
  {
    packages: ["zod"],
    within: [
      "config/**",
      "cli/**",
      "arms/**",
      "state/policies/**",
      "operators/**",
      "schemas/**",
      "stack/**",
      "tools/**",
      "gateway/**",
    ],
    use: "typed values",
  },
  { packages: ["yaml"], within: ["config/**"], use: "config/load.ts" },
  { packages: ["@pydantic/genai-prices"], within: ["config/**"], use: "config/prices.ts" },
  {
    packages: ["commander", "cli-table3"],
    within: ["cli/**", "bench/**"],
    use: "plain functions; only cli/ meets the terminal",
  },
  {
    packages: ["prom-client"],
    within: ["runtime/metrics/**", "state/**", "operators/**", "gateway/**"],
    use: "runtime/metrics/stage.ts and runtime/metrics/health.ts",
  },
  {
    packages: ["fastify"],
    within: ["runtime/metrics/**", "gateway/**"],
    use: "runtime/metrics/health.ts and gateway/server.ts",
  },
  { packages: ["preact", "preact/*", "uplot", "uplot/*", "diff"], within: ["gateway/page/client/**"], use: "the page" },
];
