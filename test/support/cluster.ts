// Three Kafka nodes, each broker and controller, for tests of what one broker can't show: leaders
// that move, brokers that die one at a time. Topics have three copies of which two must be in sync.
// Runs without a supervisor: a test kills, freezes and starts the nodes itself.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { newClusterId } from "../../stack/cluster-id.ts";
import { ensureServers, kafkaClassPath } from "../../stack/install.ts";
import { freePort } from "../../stack/ports.ts";

export type NodeId = 1 | 2 | 3;
const ids: readonly NodeId[] = [1, 2, 3];

export interface Cluster {
  brokers: string[];
  servers: string;
  /** Resolves when the node answers; a killed one comes back on its port, with its log segments. */
  start(node: NodeId): Promise<void>;
  /** kill -9. */
  kill(node: NodeId): Promise<void>;
  freeze(node: NodeId): void;
  thaw(node: NodeId): void;
  /** Everything that a node has logged. */
  log(node: NodeId): Promise<string>;
  stop(): Promise<void>;
}

const java = ["-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"];
const logging = ["-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"];

/** Rejects when a node can't be started. `answers`: whether a broker does, by its address. */
export async function startCluster(answers: (broker: string) => Promise<unknown>): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-cluster-"));
  const servers = await realpath(await ensureServers(folder));
  const command = [...java, ...logging, "-cp", await kafkaClassPath(servers)];
  const taken: number[] = [];
  const port = async (): Promise<number> => {
    const free = await freePort(undefined, taken);
    taken.push(free);
    return free;
  };
  const ports = new Map<NodeId, { broker: number; controller: number }>();
  for (const node of ids) ports.set(node, { broker: await port(), controller: await port() });
  const voters = [...ports].map(([node, { controller }]) => `${node}@127.0.0.1:${controller}`).join(",");
  const address = (node: NodeId): string => `127.0.0.1:${ports.get(node)?.broker ?? 0}`;
  const at = (node: NodeId, ...more: string[]): string => join(folder, `node-${node}`, ...more);
  const clusterId = newClusterId();
  const children = new Map<NodeId, ChildProcess>();

  const run = (node: NodeId, ...args: string[]): ChildProcess => {
    const log = openSync(at(node, "kafka.log"), "a");
    const child = spawn("java", [...command, ...args], { stdio: ["ignore", log, log] });
    closeSync(log);
    return child;
  };
  const start = async (node: NodeId): Promise<void> => {
    const child = run(node, "kafka.Kafka", at(node, "server.properties"));
    children.set(node, child);
    for (const end = Date.now() + 90_000; ; await sleep(200)) {
      if (child.exitCode !== null)
        throw new Error(`node ${node} ended: ${await readFile(at(node, "kafka.log"), "utf8")}`);
      const failure = await answers(address(node)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure === undefined) return;
      if (Date.now() > end) throw new Error(`node ${node} does not answer`, { cause: failure });
    }
  };
  const end = async (node: NodeId, signal: NodeJS.Signals): Promise<void> => {
    const child = children.get(node);
    children.delete(node);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
  const stop = async (): Promise<void> => {
    // Controlled shutdowns wait for each other, and the data is not needed any more.
    await Promise.all(ids.map((node) => end(node, "SIGKILL")));
    await rm(folder, { recursive: true, force: true });
  };

  const make = async (node: NodeId): Promise<void> => {
    await mkdir(at(node), { recursive: true });
    await writeFile(at(node, "server.properties"), properties(node, at(node, "segments"), voters, ports.get(node)));
    const format = run(node, "kafka.tools.StorageTool", "format", "-t", clusterId, "-c", at(node, "server.properties"));
    const [code] = (await once(format, "exit")) as [number | null];
    if (code !== 0)
      throw new Error(`node ${node} can't be formatted: ${await readFile(at(node, "kafka.log"), "utf8")}`);
  };
  try {
    await Promise.all(ids.map(make));
    await Promise.all(ids.map(start));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    brokers: ids.map(address),
    servers,
    start,
    kill: (node) => end(node, "SIGKILL"),
    freeze: (node) => void children.get(node)?.kill("SIGSTOP"),
    thaw: (node) => void children.get(node)?.kill("SIGCONT"),
    log: (node) => readFile(at(node, "kafka.log"), "utf8"),
    stop,
  };
}

function properties(
  node: NodeId,
  data: string,
  voters: string,
  ports: { broker: number; controller: number } = { broker: 0, controller: 0 },
): string {
  const settings: Record<string, string | number | boolean> = {
    "process.roles": "broker,controller",
    "node.id": node,
    "controller.quorum.voters": voters,
    "controller.listener.names": "CONTROLLER",
    listeners: `PLAINTEXT://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${ports.broker}`,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": data,
    "auto.create.topics.enable": false,
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "offsets.topic.segment.bytes": 1_048_576,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.state.log.min.isr": 2,
    "group.initial.rebalance.delay.ms": 0,
    // A broker that is silent for this long loses its partitions. A follower may lag as long as
    // Kafka's default allows: out of sync because the machine is busy, it could not take over from
    // a leader that is killed, and a partition without a leader stops its clients.
    "broker.session.timeout.ms": 4_500,
    "broker.heartbeat.interval.ms": 500,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
    // Leaders go where the first replica is within a second or two: that is how a test moves them.
    "auto.leader.rebalance.enable": true,
    "leader.imbalance.check.interval.seconds": 1,
    "leader.imbalance.per.broker.percentage": 0,
    // Memory of three nodes on a small machine.
    "log.cleaner.dedupe.buffer.size": 8_388_608,
    "num.network.threads": 2,
    "num.io.threads": 3,
    "num.recovery.threads.per.data.dir": 1,
  };
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}
