// Which room may import what (../shared notes: arrows point down). One list of sentences for each room, turned into
// no-restricted-imports; the test beside this file shows that they hold.

/** Native libraries and clients of services, and the only rooms that may know them. */
const clients = [
  {
    packages: ["kafkajs", "kafkajs/*"],
    rooms: ["connections/kafka/**", "stack/**"],
    use: "the port connections/kafka/port.ts",
  },
  {
    packages: ["@kafkajs/confluent-schema-registry", "avsc"],
    rooms: ["connections/registry/**"],
    use: "the port connections/registry/port.ts",
  },
  {
    packages: ["@clickhouse/client"],
    rooms: ["connections/clickhouse/**"],
    use: "the port connections/clickhouse/port.ts",
  },
  {
    packages: ["chdb", "chdb/*"],
    rooms: ["stack/facade/**"],
    use: "ClickHouse over HTTP (connections/clickhouse/port.ts)",
  },
  { packages: ["usearch", "hnswlib-node"], rooms: ["bench/**"], use: "the port connections/vectors/port.ts" },
  {
    packages: ["lmdb"],
    rooms: ["connections/pool/**", "connections/documents/**"],
    use: "a port (connections/pool/port.ts, connections/documents/port.ts)",
  },
  {
    packages: ["onnxruntime-node"],
    rooms: ["connections/embedder/**", "connections/proxy/**"],
    use: "the ports connections/embedder/port.ts and connections/proxy/port.ts",
  },
  {
    packages: ["@huggingface/tokenizers"],
    rooms: ["connections/embedder/**"],
    use: "the port connections/embedder/port.ts",
  },
  { packages: ["openai", "eventsource-parser"], rooms: ["arms/**"], use: "the port arms/arm.ts" },
  // Only its libraries are used, under our own addon.
  { packages: ["node-llama-cpp"], rooms: ["connections/llama/**"], use: "connections/llama" },
  {
    // Native code that may crash: it belongs into the llama arm's own process, and into programs.
    packages: ["@huggingface/jinja", "**/connections/llama/*", "!**/connections/llama/port.ts"],
    rooms: ["connections/llama/**", "arms/**", "bench/**", "scripts/**", "cli/**"],
    use: "the port arms/arm.ts",
  },
  {
    packages: ["zod"],
    rooms: ["config/**", "cli/**", "arms/**", "operators/**", "schemas/**", "stack/**", "scripts/**", "demo/**"],
    use: "typed values",
  },
  { packages: ["yaml"], rooms: ["config/**"], use: "config/load.ts" },
  {
    packages: ["commander", "cli-table3"],
    rooms: ["cli/**", "bench/**"],
    use: "plain functions; only cli/ meets the terminal",
  },
  {
    packages: ["fastify", "prom-client"],
    rooms: ["runtime/**", "cli/**"],
    use: "runtime/metrics.ts and runtime/health.ts",
  },
];

/** Rooms that a room may not look into, as parts of import paths. */
const rooms = [
  {
    files: ["algorithms/**"],
    forbidden: [
      "connections",
      "runtime",
      "operators",
      "pipelines",
      "arms",
      "stack",
      "config",
      "assembly",
      "cli",
      "jobs",
      "scripts",
    ],
    why: "algorithms are pure: they import nothing but algorithms and types",
  },
  {
    files: ["operators/**"],
    forbidden: ["pipelines", "stack", "assembly", "cli", "jobs", "scripts"],
    ports: true,
    why: "operators know algorithms and ports, never an implementation or who composes them",
  },
  { files: ["pipelines/**"], forbidden: ["stack", "assembly", "cli", "scripts"], why: "pipelines compose operators" },
  {
    files: ["runtime/**"],
    forbidden: ["operators", "pipelines", "arms", "stack", "assembly", "cli", "jobs", "scripts"],
    ports: true,
    why: "the runtime runs pipelines and knows no operator",
  },
  {
    files: ["arms/**"],
    forbidden: ["operators", "pipelines", "stack", "assembly", "cli", "jobs", "scripts"],
    why: "arms stand below operators",
  },
  {
    files: ["connections/**"],
    forbidden: ["operators", "pipelines", "arms", "stack", "assembly", "cli", "jobs", "scripts"],
    why: "connections stand below everything that uses them",
  },
  {
    files: ["config/**"],
    forbidden: ["connections", "runtime", "operators", "pipelines", "arms", "stack", "assembly", "cli"],
    why: "configuration is only data",
  },
  {
    files: ["stack/**"],
    forbidden: ["operators", "pipelines", "arms", "assembly", "cli", "jobs"],
    why: "the stack knows nothing of what runs on it",
  },
  { files: ["schemas/**", "jobs/**"], forbidden: ["assembly", "cli"], why: "nothing below imports assembly/ or cli/" },
  { files: ["assembly/**"], forbidden: ["cli", "scripts"], why: "nothing imports cli/" },
];

// Tests may put an implementation behind a port; what composes everything (stages) may too.
const tests = ["**/*.test.ts", "**/*.testing.ts", "test/**"];

const clientPatterns = (file) =>
  clients
    .filter(({ rooms: allowed }) => !allowed.includes(file))
    .map(({ packages, use }) => ({ group: packages, message: `Not in this room: use ${use}.` }));

const everyRoom = [
  ...new Set([
    ...rooms.flatMap(({ files }) => files),
    ...clients.flatMap(({ rooms: allowed }) => allowed),
    ...["cli/**", "scripts/**", "bench/**", "demo/**"],
  ]),
];

/** connections/kafka/** lies in connections/**: its rules are its own clients and its parent's forbidden rooms. */
const parentOf = (room) => rooms.filter(({ files }) => files.some((pattern) => room.startsWith(pattern.slice(0, -2))));

/** Flat configuration objects; the more special room comes later and so replaces the rule of its parent. */
export const walls = everyRoom
  .sort((one, other) => one.length - other.length)
  .map((room) => {
    const allowedHere = clients.filter(({ rooms: allowed }) =>
      allowed.some((pattern) => room.startsWith(pattern.slice(0, -2))),
    );
    const patterns = clientPatterns(room).filter(
      ({ group }) => !allowedHere.some(({ packages }) => packages.join() === group.join()),
    );
    for (const { forbidden, ports, why } of parentOf(room)) {
      patterns.push({ regex: `^(\\.\\./)+(${forbidden.join("|")})/`, message: `Not from here: ${why}.` });
      if (ports === true) {
        patterns.push({
          regex: "^(\\.\\./)+connections/(?!.*/?(port|errors)\\.ts$)",
          message: `Import the port (connections/<what>/port.ts): ${why}.`,
        });
      }
    }
    return {
      files: [room],
      // What is tested may be set up with anything of its own level.
      ignores: tests,
      rules: { "@typescript-eslint/no-restricted-imports": ["error", { patterns }] },
    };
  });
