// The stage under measurement, of ours: the runtime as all stages use it, with an operator that
// passes every record on. Started by systems.ts.
import { once } from "node:events";
import { createKafka } from "../../connections/kafka/kafka.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage } from "../../runtime/stage.ts";

const [brokers = "", group = "", input = "", output = ""] = process.argv.slice(2);
const log = createLog({ level: "info" });
// The defaults of the real system.
const { kafka: settings, limits } = configSchema.parse({ arms: [{ name: "none", type: "llama" }] });
const kafka = createKafka({ brokers: brokers.split(","), clientId: "stage", config: settings, log });
const stage = createStage({
  name: "empty",
  group,
  topics: [input],
  transactionalId: `${group}.1`,
  instance: "1",
  sessionTimeoutMs: settings.sessionTimeoutMs,
  limits,
  kafka,
  process: ({ key, value }) => Promise.resolve([{ topic: output, key, value }]),
  rejected: () => Promise.resolve([]),
  metrics: createStageMetrics(createMetricsRegistry(), "empty"),
  log,
});
await stage.start();
log.info("running");

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stopping.abort());
await once(stopping.signal, "abort");
await stage.stop();
await kafka.close();
process.exit(0);
