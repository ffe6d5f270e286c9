// One Kafka node that requires authentication: TLS, every SASL mechanism that we support, and ACLs
// that deny by default. It has no supervisor. Its log shows which principal was allowed or denied
// what.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { configSchema } from "../../config/schema.ts";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { createLog } from "../../runtime/log.ts";
import { newClusterId } from "../../stack/cluster-id.ts";
import { ensureServers, kafkaClassPath } from "../../stack/install.ts";
import { freePort } from "../../stack/ports.ts";
import { makeAuthority, makeCertificate } from "./certificates.ts";

export interface SecureBroker {
  /** With the names of certificates in it, and room for more. */
  folder: string;
  /** Speaks TLS and SASL. */
  broker: string;
  /** Shows a certificate that has expired; else as `broker`. */
  expired: string;
  /** PEM file of the authority of both. */
  ca: string;
  /** What the authorizer said: operation and resource, e.g. "WRITE Topic:LITERAL:a". */
  reported(principal: string, what: "Allowed" | "Denied"): Promise<Set<string>>;
  stop(): Promise<void>;
}

export interface SecureBrokerOptions {
  /** By name; "admin" may do everything. All of them know SCRAM and PLAIN. */
  users: Readonly<Record<string, string>>;
  /** Where the keys are that tokens are signed with. */
  jwks: string;
  /** Whether it answers, as admin. */
  answers: (broker: string, ca: string) => Promise<unknown>;
}

const java = ["-Xms64m", "-Xmx320m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"];
const logging = [
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=debug",
];

/** Whether the broker serves clients and their groups, as one of its users sees it. */
export const answersAs =
  (sasl: Readonly<Record<string, unknown>>): SecureBrokerOptions["answers"] =>
  async (broker, ca) => {
    const config = configSchema.shape.kafka.parse({ brokers: [broker], tls: { ca }, sasl });
    const made = createKafkaClient({
      ...{ brokers: [broker], clientId: "probe", config },
      log: createLog({ level: "silent" }),
    }).admin({ retry: { retries: 0 } });
    try {
      await made.connect();
      // Creates the topic of the groups, and waits for their coordinator.
      await made.fetchOffsets({ groupId: "probe", topics: [] });
    } finally {
      await made.disconnect();
    }
  };

export async function startSecureBroker({ users, jwks, answers }: SecureBrokerOptions): Promise<SecureBroker> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-secure-"));
  const servers = await realpath(await ensureServers(folder));
  const [inside, outside, old, controller] = await freePorts(4);
  const ca = await makeAuthority(folder, "authority");
  const keystores = {
    outside: (await makeCertificate(folder, ca, "broker")).pair,
    old: (await makeCertificate(folder, ca, "expired", -1)).pair,
  };
  const properties = join(folder, "server.properties");
  const log = join(folder, "kafka.log");
  await mkdir(join(folder, "segments"));
  const ports = { inside, outside, old, controller } as Ports;
  await writeFile(properties, settings({ folder, ports, keystores, users, jwks }));
  const command = [...java, ...logging, `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${jwks}`];
  command.push("-cp", await kafkaClassPath(servers));
  const run = (...args: string[]): ChildProcess => {
    const file = openSync(log, "a");
    const child = spawn("java", [...command, ...args], { stdio: ["ignore", file, file] });
    closeSync(file);
    return child;
  };
  const scram = Object.entries(users).flatMap(([name, password]) =>
    ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((mechanism) => [
      "--add-scram",
      `${mechanism}=[name=${name},password=${password}]`,
    ]),
  );
  const format = run("kafka.tools.StorageTool", "format", "-t", newClusterId(), "-c", properties, ...scram);
  const [code] = (await once(format, "exit")) as [number | null];
  if (code !== 0) throw new Error(`the broker can't be formatted: ${await readFile(log, "utf8")}`);
  const child = run("kafka.Kafka", properties);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    }
    await rm(folder, { recursive: true, force: true });
  };
  const broker = `localhost:${ports.outside}`;
  for (const end = Date.now() + 90_000; ; await sleep(200)) {
    if (child.exitCode !== null) throw new Error(`the broker ended: ${await readFile(log, "utf8")}`);
    const failure: unknown = await answers(broker, ca).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) break;
    if (Date.now() < end) continue;
    const reported = (await readFile(log, "utf8")).slice(-2_000);
    await stop();
    throw new Error(`the broker does not answer: ${reported}`, { cause: failure });
  }
  return {
    ...{ folder, broker, ca, stop, expired: `localhost:${ports.old}` },
    async reported(principal, what) {
      const lines = (await readFile(log, "utf8")).split("\n");
      const wanted = new RegExp(
        `Principal = User:${principal} is ${what} operation = (\\w+) from host = \\S+ on resource = (\\S+)`,
      );
      return new Set(
        lines.flatMap((line) => {
          const [, operation, resource] = wanted.exec(line) ?? [];
          return operation === undefined ? [] : [`${operation} ${resource ?? ""}`];
        }),
      );
    },
  };
}

interface Ports {
  inside: number;
  outside: number;
  old: number;
  controller: number;
}

async function freePorts(count: number): Promise<number[]> {
  const taken: number[] = [];
  while (taken.length < count) taken.push(await freePort(undefined, taken));
  return taken;
}

interface Settings {
  folder: string;
  ports: Ports;
  keystores: { outside: string; old: string };
  users: Readonly<Record<string, string>>;
  jwks: string;
}

function settings({ folder, ports, keystores, users, jwks }: Settings): string {
  const module = (name: string): string => `org.apache.kafka.common.security.${name} required`;
  const plain = Object.entries(users).map(([name, password]) => ` user_${name}="${password}"`);
  const listener = (name: "outside" | "old"): Record<string, string> => {
    const at = `listener.name.${name}`;
    return {
      [`${at}.ssl.keystore.type`]: "PEM",
      [`${at}.ssl.keystore.location`]: keystores[name],
      [`${at}.sasl.enabled.mechanisms`]: "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER",
      [`${at}.scram-sha-256.sasl.jaas.config`]: `${module("scram.ScramLoginModule")};`,
      [`${at}.scram-sha-512.sasl.jaas.config`]: `${module("scram.ScramLoginModule")};`,
      [`${at}.plain.sasl.jaas.config`]: `${module("plain.PlainLoginModule")}${plain.join("")};`,
      [`${at}.oauthbearer.sasl.jaas.config`]: `${module("oauthbearer.OAuthBearerLoginModule")} unsecuredLoginStringClaim_sub="nobody";`,
      [`${at}.oauthbearer.sasl.server.callback.handler.class`]:
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
      [`${at}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url`]: jwks,
      [`${at}.oauthbearer.sasl.oauthbearer.expected.audience`]: "kafka",
    };
  };
  const all: Record<string, string | number | boolean> = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.quorum.voters": `1@127.0.0.1:${ports.controller}`,
    "controller.listener.names": "CONTROLLER",
    // The node's own listener, which is not advertised to clients.
    "inter.broker.listener.name": "INSIDE",
    listeners: `INSIDE://127.0.0.1:${ports.inside},OUTSIDE://127.0.0.1:${ports.outside},OLD://127.0.0.1:${ports.old},CONTROLLER://127.0.0.1:${ports.controller}`,
    "advertised.listeners": `INSIDE://127.0.0.1:${ports.inside},OUTSIDE://localhost:${ports.outside},OLD://localhost:${ports.old}`,
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SASL_SSL,OLD:SASL_SSL,CONTROLLER:PLAINTEXT",
    ...listener("outside"),
    ...listener("old"),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": false,
    "super.users": "User:admin;User:ANONYMOUS",
    // Sessions end, and clients must authenticate again in the middle of their work.
    "connections.max.reauth.ms": 15_000,
    "log.dirs": join(folder, "segments"),
    "auto.create.topics.enable": false,
    "message.max.bytes": 33_619_968,
    "replica.fetch.max.bytes": 33_619_968,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.segment.bytes": 1_048_576,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.dedupe.buffer.size": 8_388_608,
    "num.network.threads": 2,
    "num.io.threads": 4,
  };
  return Object.entries(all)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}
