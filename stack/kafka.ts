// Kafka as a small KRaft node on 127.0.0.1. What is acknowledged survives kill -9.
import { spawn } from "node:child_process";
import { access, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { codeOf } from "./process.ts";
import { newClusterId } from "./cluster-id.ts";
import { classArchive, type ClassArchive } from "./archive.ts";
import { kafkaClassPath } from "./install.ts";
import { succeeds } from "../connections/errors.ts";
import { writeAtomically } from "../connections/process/lock.ts";
import type { Launch, ServerSpec } from "./server.ts";

/** The largest batch of any topic: 32 MiB of record and its envelope. */
const largestMessageBytes = 32 * 1_048_576 + 65_536;

export interface KafkaOptions {
  /** The real path of the servers, no link. */
  servers: string;
  /** Folder of server.properties and of the log segments. */
  folder: string;
  /** Asked before every start; the ports stay once the server was ready (ports.ts). */
  ports(): Promise<{ port: number; controllerPort: number }>;
}

const jvm = ["-Xms64m", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"];

export function kafkaServer({ servers, folder, ports }: KafkaOptions): ServerSpec {
  let port = 0;
  let archive: ClassArchive | undefined;
  return {
    name: "kafka",
    stopGraceMs: 20_000,
    async prepare(): Promise<Launch> {
      const chosen = await ports();
      port = chosen.port;
      const data = join(folder, "segments");
      const properties = join(folder, "server.properties");
      await writeAtomically(properties, serverProperties(data, port, chosen.controllerPort));
      const classPath = await kafkaClassPath(servers);
      const java = [
        ...jvm,
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        // Says at this level only that it has dropped a transaction marker
        // (test/support/kafka-log.ts looks for it).
        "-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction.TransactionMarkerChannelManager=info",
      ];
      archive = await classArchive(servers, "kafka", [...java, classPath]);
      if (!(await succeeds(access(join(data, "meta.properties"))))) {
        // Formatted aside and put in place whole: a start that was killed here leaves nothing
        // half-done.
        const draft = join(folder, "segments.draft");
        const draftProperties = join(folder, "format.properties");
        await rm(draft, { recursive: true, force: true });
        await mkdir(draft, { recursive: true });
        await writeAtomically(draftProperties, serverProperties(draft, port, chosen.controllerPort));
        await format([...java, ...archive.shortLived, "-cp", classPath], draftProperties);
        await rename(draft, data);
        await rm(draftProperties);
      }
      return {
        command: "java",
        args: [...java, ...archive.options, "-cp", classPath, "kafka.Kafka", properties],
        env: process.env,
      };
    },
    ended: async (clean) => archive?.keep(clean),
    probe: () => probe(port),
  };
}

/** Once for a new data folder. */
async function format(java: string[], properties: string): Promise<void> {
  const args = [...java, "kafka.tools.StorageTool", "format", "-t", newClusterId(), "-c", properties];
  const child = spawn("java", args, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const code = await codeOf(child);
  if (code !== 0) throw new Error(`Kafka's storage can't be formatted (code ${code}): ${text.slice(-2_000)}`);
}

/**
 * Ready: registered with the controller, and both coordinators lead their topics, which the first
 * start makes.
 */
async function probe(port: number): Promise<void> {
  const kafka = new Kafka({
    clientId: "precedent-stack",
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  const producer = kafka.producer({
    transactionalId: "precedent-stack",
    maxInFlightRequests: 1,
    idempotent: true,
    createPartitioner: Partitioners.DefaultPartitioner,
    // kafkajs refuses an idempotent producer without retries.
    retry: { retries: 5, initialRetryTime: 20, maxRetryTime: 100 },
  });
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    if (brokers.length === 0) throw new Error("the broker is not registered yet");
    await admin.describeGroups(["precedent-stack"]);
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.abort();
  } finally {
    await Promise.allSettled([admin.disconnect(), producer.disconnect()]);
  }
}

function serverProperties(data: string, port: number, controllerPort: number): string {
  const settings: Record<string, string | number | boolean> = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    "controller.listener.names": "CONTROLLER",
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}`,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": data,
    // Topics are made by us, never by accident.
    "auto.create.topics.enable": false,
    // The largest topics; each topic has its own, smaller limit where it should.
    "message.max.bytes": largestMessageBytes,
    "replica.fetch.max.bytes": largestMessageBytes,
    "replica.fetch.response.max.bytes": largestMessageBytes,
    "socket.request.max.bytes": 2 * largestMessageBytes,
    // One node: every internal topic has one replica, and few partitions start faster.
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 1,
    // Compacted early, and so read in a blink by a broker that comes back. A group coordinator that
    // is elected, deposed and elected again while its first load still runs takes the end of that
    // one for the end of the second, and forgets committed positions (docs/stack.md).
    "offsets.topic.segment.bytes": 1_048_576,
    "transaction.state.log.segment.bytes": 1_048_576,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.min.isr": 1,
    // A group starts at once; a killed broker may register again after its session, 4.5 s instead
    // of 9. Much less, and on a busy machine the controller believes a living broker dead: every
    // partition and coordinator is then away for a moment.
    "group.initial.rebalance.delay.ms": 0,
    "broker.session.timeout.ms": 4_500,
    "broker.heartbeat.interval.ms": 500,
    // A producer that was killed holds up readers for its own timeout and not much longer.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
    // Memory and disk of a small node. A segment must hold the largest message.
    "log.cleaner.dedupe.buffer.size": 8_388_608,
    "log.segment.bytes": 134_217_728,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "num.recovery.threads.per.data.dir": 2,
  };
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}
