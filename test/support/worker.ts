// One stage process for tests that kill it: node tools/bin/run.mjs test/support/worker.ts
// CONFIG.json STAGES INSTANCE [network], the stages with commas between them. Says "ready" to its
// parent when they have joined, ends at SIGTERM as `precedent up` does, and with its parent. With a
// network, connections to the broker go through a forwarder, and its parent's messages cut them.
import { readFileSync } from "node:fs";
import { openSession } from "../../pipelines/session.ts";
import { allStageNames, startStages, tablesFor } from "../../pipelines/up.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { createUnreliableNetwork, type Cut } from "./unreliable-network.ts";

const [, , file = "", names = "", instance = "", network] = process.argv;
const stages = names.split(",").map((name) => {
  const known = allStageNames.find((stage) => stage === name);
  if (known === undefined) throw new Error(`"${name}" is no stage: use one of ${allStageNames.join(", ")}`);
  return known;
});
process.on("disconnect", () => process.exit(1));

const config = { ...configSchema.parse(JSON.parse(readFileSync(file, "utf8"))), instance };
if (network !== undefined) {
  // The embedded broker keeps its port when it is started again.
  const lines = await createUnreliableNetwork(Number(config.kafka.brokers?.[0]?.split(":")[1]));
  process.on("message", ({ index, how }: { index: number; how: Cut }) => lines.cut(index, how));
}
const session = await openSession(config, {
  log: createLog({ level: config.log.level }),
  clientId: instance,
  start: false,
  tables: tablesFor(stages),
});
const running = await startStages(session, { stages });
process.once("SIGTERM", () => {
  const left = async (): Promise<never> => {
    await running.stop();
    await session.close();
    return process.exit(0);
  };
  left().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.send?.("ready");
