// The clients in docs/clients, run as they stand, against a running system: nothing of ours is
// needed to use it.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cacheFolder } from "../../config/assets.ts";
import { pythonWith } from "../../connections/python/python.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const execute = promisify(execFile);
const client = (name: string): string => fileURLToPath(new URL(`../../docs/clients/${name}`, import.meta.url));
const packages = ["confluent-kafka[avro,schemaregistry]==2.11.1"];
const question = "count the lines of a file";
let system: TestSystem;
let folder: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-outside-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: question, response: "wc -l file" }));
  system = await startSystem({ arms: [{ name: "recorded", type: "recorded", file }] });
  const { kafka, registry } = system.session.connections;
  environment = {
    ...process.env,
    KAFKA: kafka.brokers.join(","),
    REGISTRY: registry.url,
    PREFIX: system.config.kafka.prefix,
  };
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

test("kafkajs and a registry client", async () => {
  const { stdout } = await execute(process.execPath, [client("ask.mjs"), question], {
    env: environment,
    timeout: 60_000,
  });
  expect(JSON.parse(stdout)).toEqual({ status: "ok", text: "wc -l file", arm: "recorded", error: null });
});

test("Python and confluent-kafka, read committed", async () => {
  const python = await pythonWith(
    ["confluent_kafka.schema_registry.avro"],
    packages,
    join(cacheFolder(), "python-client"),
    () => undefined,
  );
  const { stdout } = await execute(python, [client("ask.py"), question], { env: environment, timeout: 60_000 });
  expect(JSON.parse(stdout)).toEqual({ status: "ok", text: "wc -l file", arm: "recorded", error: null });
}, 240_000);
