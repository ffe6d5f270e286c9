// What runs: the embedded stack or the configured servers, with topics, schemas and tables as this
// version needs them. Only looks.
import { messageOf } from "../connections/errors.ts";
import { inTime } from "../connections/in-time.ts";
import { armsOf } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { isInline } from "../config/sections/arms.ts";
import { routerVersionsOf } from "../config/sections/experiments.ts";
import { topicOwners } from "../config/tenants.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import { appliedVersions, MigrationError, readMigrations } from "../connections/clickhouse/migrate.ts";
import { createKafka } from "../connections/kafka/kafka.ts";
import { lostMarkersRemedy } from "../connections/kafka/lost-markers.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { createRegistry, subjectsOf } from "../connections/registry/client.ts";
import { createCodec } from "../connections/registry/codec.ts";
import { adviceOf } from "../connections/security/errors.ts";
import { createLog } from "../runtime/log.ts";
import { ownersOf, schemaOf, type TopicName } from "../schemas/records.ts";
import { stackStatus } from "../stack/attach.ts";
import { resolveConnections, type ResolvedConnections } from "../stack/resolve.ts";
import type { Check } from "./doctor-check.ts";
import { isEmbedded } from "./doctor-machine.ts";
import { checkBreakers } from "./doctor-breakers.ts";
import { clockSkew, counted } from "./doctor-counts.ts";
import { clientStamps, clientTopics, committedOffsets, slowCoordinator, weakTopics } from "./doctor-durability.ts";
import { checkMilvus } from "./doctor-milvus.ts";
import { checkInline } from "./doctor-inline.ts";
import { checkPins } from "./doctor-pins.ts";
import { checkReuse } from "./doctor-reuse.ts";
import { checkTransactions } from "./doctor-transactions.ts";

const limitMs = 15_000;
const hiddenTopics = 'if they are there, this principal lacks ACLs ("precedent topology --acls")';

/** repair: transactions that hang are ended where their outcome is on record. */
export async function connectionChecks(config: Config, { repair = false } = {}): Promise<Check[]> {
  const checks: Check[] = [];
  if (isEmbedded(config)) {
    const { ready, running, folder, failure, servers } = await stackStatus(config.stack.folder);
    const states = servers.map(({ name, status }) => `${name} ${status}`).join(", ");
    checks.push(
      ready
        ? { name: "stack", state: "fine", detail: `runs on ${folder}` }
        : {
            name: "stack",
            state: running || failure !== undefined ? "missing" : "waiting",
            detail: running
              ? `on ${folder}: ${states}`
              : `does not run on ${folder}${failure === undefined ? "" : `: ${failure}`}`,
            remedy: "precedent stack start",
          },
    );
    if (!ready) return checks;
  }
  const connections = await resolveConnections(config, { start: false });
  const [kafka, registry, clickhouse] = await Promise.all([
    checked("kafka", connections.kafka.brokers.join(","), () => checkKafka(config, connections)),
    checked("registry", connections.registry.url, () => checkRegistry(config, connections)),
    checked("clickhouse", connections.clickhouse.url, () => checkClickHouse(connections)),
  ]);
  if (kafka.state === "missing") return [...checks, kafka, registry, clickhouse, ...(await milvus(config))];
  const codec = createCodec({ prefix: config.kafka.prefix, registry: createRegistry(connections.registry) });
  const looks: [name: string, needed: boolean, look: (client: Kafka) => Promise<Omit<Check, "name">>][] = [
    ["transactions", true, (client) => checkTransactions(config, client, { topics: topicsOf(config), repair })],
    ["inline", config.arms.some(isInline), (client) => checkInline(config, client)],
    ["breakers", config.arms.length > 1, (client) => checkBreakers(config, client, codec)],
    ["reuse", config.arms.some(({ type }) => type === "reuse"), (client) => checkReuse(config, client, codec)],
    ["experiments", routerVersionsOf(config.experiments).length > 0, (client) => checkPins(config, client, codec)],
  ];
  const client = doctorKafka(config, connections.kafka);
  const found: Check[] = [];
  for (const [name, needed, look] of looks)
    if (needed) found.push(await checked(name, connections.kafka.brokers.join(","), () => look(client)));
  await client.close();
  return [...checks, kafka, ...found, registry, clickhouse, ...(await milvus(config))];
}

const milvus = async (config: Config): Promise<Check[]> =>
  config.selection.milvus === undefined
    ? []
    : [await checked("milvus", config.selection.milvus.address, () => checkMilvus(config, Date.now()))];

/** A server that does not answer is a finding, not a failure of ours. */
async function checked(name: string, where: string, look: () => Promise<Omit<Check, "name">>): Promise<Check> {
  try {
    return { name, ...(await inTime(limitMs, look(), () => new Error(`no answer within ${limitMs / 1_000} s`))) };
  } catch (error) {
    const why = messageOf(error);
    return {
      name,
      state: "missing",
      detail: `${where}: ${why}`,
      remedy:
        adviceOf(error) ??
        `see that it runs and that ${name === "milvus" ? "selection.milvus" : name} in the configuration is right`,
    };
  }
}

const topicsOf = (config: Config): string[] =>
  ([...Object.keys(schemaOf), "locks"] as (TopicName | "locks")[]).flatMap((topic): string[] =>
    ownersOf(topic, topicOwners(config, armsOf(config))).map((owner) => topicName(config.kafka.prefix, topic, owner)),
  );

const doctorKafka = (config: Config, kafka: ResolvedConnections["kafka"]): Kafka =>
  createKafka({
    brokers: kafka.brokers,
    clientId: "precedent-doctor",
    config: { ...config.kafka, ...kafka },
    log: createLog({ level: "silent" }),
  });

async function checkKafka(config: Config, connections: ResolvedConnections): Promise<Omit<Check, "name">> {
  const { brokers } = connections.kafka;
  const kafka = doctorKafka(config, connections.kafka);
  try {
    const existing = new Set(await kafka.topics());
    const problem = await kafka.brokerProblem();
    if (problem !== undefined) return { state: "lacking", detail: problem, remedy: lostMarkersRemedy };
    const wanted = topicsOf(config);
    const { state, detail, ...more } = counted(wanted, existing, "topics");
    const durability = await kafka.durability(wanted.filter((topic) => existing.has(topic)));
    const clients = clientTopics.map((topic) => topicName(config.kafka.prefix, topic));
    const internal = await kafka.durability([committedOffsets].filter((topic) => existing.has(topic)));
    const warning = { ...slowCoordinator(internal), ...clientStamps(durability, clients), ...weakTopics(durability) };
    return {
      ...{ state, detail: `${brokers.join(",")}: ${detail}`, ...more, ...(state === "fine" ? warning : {}) },
      // Brokers hide topics from who may not describe them.
      ...(state === "waiting" && config.kafka.sasl !== undefined && { remedy: `${more.remedy}; ${hiddenTopics}` }),
    };
  } finally {
    await kafka.close();
  }
}

async function checkRegistry(config: Config, { registry }: ResolvedConnections): Promise<Omit<Check, "name">> {
  const subjects = await subjectsOf({ ...registry, timeoutMs: limitMs });
  const wanted = topicsOf(config)
    .filter((topic) => topic !== topicName(config.kafka.prefix, "locks"))
    .map((topic) => `${topic}-value`);
  const { state, detail, ...more } = counted(wanted, subjects, "schemas");
  return { state, detail: `${registry.url}: ${detail}`, ...more };
}

async function checkClickHouse({ clickhouse }: ResolvedConnections): Promise<Omit<Check, "name">> {
  const { database, ...server } = clickhouse;
  const client = createClickHouse({ ...server, requestTimeoutMs: limitMs });
  try {
    const began = Date.now();
    const [found] = await client.query<{ version: string; made: number; now: string }>(
      `SELECT version() AS version, toString(toUnixTimestamp64Milli(now64(3))) AS now,
              (SELECT count() FROM system.tables WHERE database = {database:String} AND name = 'migrations') AS made`,
      { database },
    );
    const skew = clockSkew(Number(found?.now), { began, ended: Date.now() });
    const files = await readMigrations();
    const applied = found?.made === 1 ? await appliedVersions(client, database, files) : new Set<number>();
    const { state, detail, ...more } = counted(
      files.map(({ version }) => String(version)),
      new Set([...applied].map(String)),
      `migrations of ${database}`,
    );
    return { state, detail: `${clickhouse.url} (${found?.version ?? "?"}): ${detail}`, ...more, ...skew };
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { state: "missing", detail: `${clickhouse.url}: ${error.message}` };
  } finally {
    await client.close();
  }
}
