// Every connection with TLS and credentials, on a broker that allows nothing by itself: the whole
// loop with a principal a stage and no more ACLs than the stages' declarations ask for, and what a
// wrong password, an unknown, expired or misnamed certificate and a missing ACL look like. Nothing
// is lost.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Admin } from "kafkajs";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages, type RunningStages, type StageName } from "../../pipelines/up.ts";
import { principalOf } from "../../cli/topology.ts";
import { configSchema, type Config } from "../../config/schema.ts";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { topicName } from "../../connections/kafka/topics.ts";
import { remedyOf } from "../../connections/security/errors.ts";
import { aclsOf, type Acl } from "../../pipelines/acls.ts";
import { topology } from "../../pipelines/topology.ts";
import { createLog } from "../../runtime/log.ts";
import type { TopicName } from "../../schemas/records.ts";
import type { Response } from "../../schemas/types.ts";
import { groupName } from "../../runtime/running-stage.ts";
import { entries, numbers } from "../support/acls.ts";
import { makeAuthority, makeCertificate } from "../support/certificates.ts";
import { follow } from "../support/follow.ts";
import type { LetterRow } from "../../gateway/page/data/dead-letters.ts";
import { answersAs, startSecureBroker, type SecureBroker } from "../support/secure-broker.ts";
import { databaseName, testStack, uniquePrefix } from "../support/stack.ts";
import { eventually, requestOf } from "../support/system.ts";
import { startTlsFront, type TlsFront } from "../support/tls-front.ts";
import { startIdentityProvider, type IdentityProvider } from "../support/tokens.ts";

type Sasl = Record<string, unknown>;

const stages = ["plan", "generate", "record", "learn", "curate", "gateway"] as const;
const names = ["admin", principalOf("operator"), ...stages.map((stage) => principalOf(stage)), "client"];
const users = Object.fromEntries(names.map((name) => [name, `secret-of-${name}`]));
const passwordOf = (name: string): string => users[name] ?? "";
const prefix = uniquePrefix();
const database = databaseName();
/** Connections authenticate again within it, with another token. */
const tokenSeconds = 30;

let folder: string;
let provider: IdentityProvider;
let secure: SecureBroker;
let fronts: { registry: TlsFront; clickhouse: TlsFront };
let admin: Admin;
let operator: Session;
const running: { session: Session; stages: RunningStages }[] = [];
const responses = new Map<string, Response[]>();

const scram = (name: string): Sasl => ({ mechanism: "scram-sha-512", username: name, password: passwordOf(name) });
const oauth = (name: string): Sasl => ({
  mechanism: "oauthbearer",
  oauth: { endpoint: provider.endpoint, clientId: name, clientSecret: passwordOf(name) },
});
const saslOf: Partial<Record<StageName, (name: string) => Sasl>> = {
  generate: oauth,
  record: (name) => ({ mechanism: "plain", username: name, passwordFile: join(folder, name) }),
  learn: (name) => ({ ...scram(name), mechanism: "scram-sha-256" }),
};

function configOf(sasl: Sasl, more: { brokers?: string[]; ca?: string } = {}): Config {
  const { brokers = [secure.broker], ca = secure.ca } = more;
  const { username, password } = testStack().clickhouse;
  return configSchema.parse({
    arms: [{ name: "small", type: "recorded", dispatch: "queued", file: join(folder, "log.jsonl"), cost: 0.1 }],
    selection: { explore: { trials: 0, thresholds: 0, orders: 0 } },
    kafka: { brokers, prefix, partitions: 2, sessionTimeoutMs: 6_000, tls: { ca }, sasl },
    registry: {
      ...{ url: fronts.registry.url, tls: { ca: secure.ca } },
      ...{ username: "registrar", passwordFile: join(folder, "registrar") },
    },
    clickhouse: { url: fronts.clickhouse.url, tls: { ca: secure.ca }, username, password, database },
    stack: { folder: join(folder, "stack") },
    gateway: { port: 0 },
    log: { level: process.env["PRECEDENT_TEST_LOG"] ?? "silent" },
  });
}

const clientOf = (sasl: Sasl, more: { broker?: string; ca?: string } = {}) =>
  createKafkaClient({
    brokers: [more.broker ?? secure.broker],
    clientId: "test",
    config: configOf(sasl, more).kafka,
    log: createLog({ level: "silent" }),
  });

const openAs = (config: Config): Promise<Session> =>
  openSession(config, { log: createLog({ level: config.log.level }), clientId: "test" });

const acls = (): Acl[] =>
  aclsOf(topology, {
    ...{ prefix, arms: ["small"], tenants: [], principal: principalOf },
    topic: (name, arm) => topicName(prefix, name, arm),
    group: (stage, arm) => groupName(prefix, stage, arm),
  });

async function startAs(stage: StageName): Promise<void> {
  const name = principalOf(stage);
  const session = await openAs(configOf((saslOf[stage] ?? scram)(name)));
  running.push({ session, stages: await startStages(session, { stages: [stage] }) });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-secure-test-"));
  const lines = ["question", "another question"].map((request) => JSON.stringify({ request, response: "answer" }));
  await writeFile(join(folder, "log.jsonl"), lines.join("\n"));
  for (const name of [...names, "registrar"]) await writeFile(join(folder, name), `${users[name] ?? "filed"}\n`);
  provider = await startIdentityProvider(users, tokenSeconds);
  secure = await startSecureBroker({ users, jwks: provider.jwks, answers: answersAs(scram("admin")) });
  const certificate = await makeCertificate(secure.folder, secure.ca, "front");
  const basic = `Basic ${Buffer.from("registrar:filed").toString("base64")}`;
  fronts = {
    registry: await startTlsFront(testStack().registryUrl, certificate, (given) => given === basic),
    clickhouse: await startTlsFront(testStack().clickhouse.url, certificate),
  };
  admin = clientOf(scram("admin")).admin();
  await admin.connect();
  await admin.createAcls({ acl: entries(acls()) });
  // The principal that creates the topics comes first.
  operator = await openAs(configOf(scram(principalOf("operator"))));
  await follow(operator, "responses", (response) => {
    responses.set(response.requestId, [...(responses.get(response.requestId) ?? []), response]);
  });
  for (const stage of stages) await startAs(stage);
});

afterAll(async () => {
  await Promise.all(running.map(({ stages: started }) => started.stop()));
  await operator?.clickhouse.command(`DROP DATABASE IF EXISTS ${database}`);
  await Promise.all([...running.map(({ session }) => session.close()), operator?.close(), admin.disconnect()]);
  await Promise.all([fronts.registry.close(), fronts.clickhouse.close(), provider.close(), secure.stop()]);
  await rm(folder, { recursive: true, force: true });
});

async function ask(question: string): Promise<string> {
  const request = requestOf(question);
  const producer = operator.kafka.plainProducer();
  await producer.send([
    {
      topic: operator.topic("requests"),
      key: request.id,
      value: operator.codec.encode("requests", request),
    },
  ]);
  await producer.close();
  return request.id;
}

const answered = (id: string): Promise<Response> =>
  eventually(`the response to ${id}`, () => Promise.resolve(responses.get(id)?.[0]));

test("a request is planned, answered and recorded, each stage as a principal of its own", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => ask("question")));
  const found = await Promise.all(ids.map(answered));
  expect(found.map(({ status, text }) => [status, text])).toEqual(ids.map(() => ["ok", "answer"]));
  const rows = await eventually("all rows", async () => {
    const [row] = await operator.clickhouse.query<{ n: number }>("SELECT count() AS n FROM responses FINAL");
    return row?.n === ids.length ? row.n : undefined;
  });
  expect(rows).toBe(ids.length);
  expect([...responses.values()].every((all) => all.length === 1)).toBe(true);
});

test("the gateway answers", async () => {
  const baseUrl = running.find(({ stages: { baseUrl: url } }) => url !== undefined)?.stages.baseUrl ?? "";
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "precedent", messages: [{ role: "user", content: "question" }] }),
  });
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: "answer" } }] });
});

test("and works on a batch: a line that is answered, and one that is refused", async () => {
  const baseURL = running.find(({ stages: { baseUrl: url } }) => url !== undefined)?.stages.baseUrl ?? "";
  const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });
  const url = "/v1/chat/completions";
  const messages = [{ role: "user", content: "question" }];
  const lines = [
    { custom_id: "answered", method: "POST", url, body: { model: "precedent", messages } },
    { custom_id: "refused", method: "POST", url, body: { model: "none", messages } },
  ].map((line) => JSON.stringify(line));
  const file = await client.files.create({
    ...{ purpose: "batch", file: await toFile(Buffer.from(lines.join("\n")), "lines.jsonl") },
  });
  const begun = await client.batches.create({ input_file_id: file.id, endpoint: url, completion_window: "24h" });
  const { request_counts: counts } = await eventually("the end of the batch", async () => {
    const batch = await client.batches.retrieve(begun.id);
    return batch.status === "completed" ? batch : undefined;
  });
  expect(counts).toEqual({ total: 2, completed: 1, failed: 1 });
});

test("and sends a dead letter to its topic again", async () => {
  const { origin } = new URL(running.find(({ stages: { baseUrl: url } }) => url !== undefined)?.stages.baseUrl ?? "");
  const topic = operator.topic("requests");
  const producer = operator.kafka.plainProducer();
  await producer.send([{ topic, key: "odd", value: Buffer.from([0, 0, 0, 0, 99, 1]) }]).finally(() => producer.close());
  const { partition, offset } = await eventually("the dead letter", async () => {
    const found = await fetch(`${origin}/page/api/letters?${new URLSearchParams({ topic, stage: "plan" }).toString()}`);
    return ((await found.json()) as LetterRow[])[0];
  });
  const sent = await fetch(`${origin}/page/api/letter-retry`, {
    ...{ method: "POST", headers: { "content-type": "application/json", origin } },
    body: JSON.stringify({ topic, partition: String(partition), offset: String(offset), stage: "plan" }),
  });
  expect([sent.status, await sent.text()]).toEqual([200, expect.any(String)]);
});

test("tokens are fetched anew, and what is under way goes on", async () => {
  const before = provider.given();
  await eventually("another token", () => Promise.resolve(provider.given() > before ? true : undefined));
  const found = await answered(await ask("question"));
  expect(found).toMatchObject({ status: "ok", text: "answer" });
});

const resources = { topic: "Topic", group: "Group", "transactional-id": "TransactionalId" } as const;

/** learn and curate find nothing to do in so short a time. */
const working: readonly StageName[] = ["plan", "generate", "record", "gateway"];
/**
 * What only cancels, feedback, the page, inline and alternative arms, pairs, failures and KV caches
 * use.
 */
const idle = [
  ...["gateway Write cancels", "gateway Write feedback"],
  // The page, while a viewer is connected, reverts a policy or takes an example out.
  ...[
    "gateway Read decisions",
    "gateway Read reader.decisions.",
    "gateway Read policies",
    "gateway Read reader.policies.",
  ],
  ...["gateway Write policies", "gateway Write policies.", "gateway Write examples"],
  // Its acts on keys; it follows dead letters without a group.
  ...["gateway Write keys", "gateway Read reader.dead-letters."],
  ...["gateway Read breakers", "gateway Read reader.breakers."],
  ...["gateway Read inline-calls", "gateway Read reader.inline-calls."],
  ...["plan Write response-cache", "plan Write deltas"],
  // Repeats of what is recorded with placeholders (privacy.redact).
  ...["plan Read responses", "plan Read reader.responses."],
  ...["inline-calls", "breakers"].flatMap((topic) => [
    ...[`plan Read ${topic}`, `plan Write ${topic}`, `plan Read reader.${topic}.`],
    ...[`generate Read ${topic}`, `generate Write ${topic}`, `generate Read reader.${topic}.`],
  ]),
  ...["work.small", "alternative-answers", "dead-letters", "kv-inventory", "prefill-samples", "policies", "deltas"].map(
    (topic) => `generate Write ${topic}`,
  ),
  ...["generate Read provider-batches", "generate Write provider-batches", "generate Read reader.provider-batches."],
  // Whose caches idle llama arms make.
  ...["generate Read documents", "generate Read reader.documents."],
  "record Write dead-letters",
];

test("no stage was denied what it needs, and its ACLs were of use", async () => {
  const outputsOf = new Map(topology.map(({ name, outputs }) => [name, outputs]));
  for (const stage of stages) {
    // A producer looks whether a former one has left a transaction open in its outputs. If one is
    // open at that moment, it looks for its holder, which may be another stage's.
    const mayLook = ["DESCRIBE Topic:LITERAL:__consumer_offsets", "DESCRIBE Topic:LITERAL:__transaction_state"].concat(
      (outputsOf.get(stage) ?? []).map(
        (output) => `READ Topic:LITERAL:${topicName(prefix, output as TopicName, "small")}`,
      ),
    );
    const denied = [...(await secure.reported(principalOf(stage), "Denied"))];
    const isLook = (line: string): boolean =>
      mayLook.includes(line) || line.startsWith("DESCRIBE TransactionalId:LITERAL:");
    expect([stage, denied.filter((line) => !isLook(line))]).toEqual([stage, []]);
  }
  const unused: string[] = [];
  for (const { principal, resource, name, operations } of acls()) {
    if (!working.some((stage) => principalOf(stage) === principal)) continue;
    const allowed = await secure.reported(principal, "Allowed");
    for (const operation of operations) {
      const line = `${operation.toUpperCase()} ${resources[resource]}:LITERAL:${name}`;
      if (![...allowed].some((reported) => reported.startsWith(line)))
        unused.push(`${principal.replace(/^.*-/, "")} ${operation} ${name.replace(prefix, "")}`);
    }
  }
  const unexpected = unused.filter((acl) => !idle.includes(acl));
  expect(unexpected, "ACLs that were not used: list in `idle` those of what this test does not do").toEqual([]);
});

const refusalOf = async (config: Config): Promise<string> => {
  const error: unknown = await openAs(config).then(
    async (session) => {
      await session.close();
      return new Error("it was let in");
    },
    (refused: unknown) => refused,
  );
  expect(String(error)).not.toMatch(/secret-of|wrong/);
  return `${String(error)}; ${remedyOf(error) ?? "no remedy"}`;
};

/** A server whose certificate names other hosts: the broker under another address. */
async function forwardFrom(host: string, broker: string): Promise<{ address: string; close(): Promise<void> }> {
  const [to = "", port] = broker.split(":");
  const server = createServer((socket) => {
    const upstream = connect(Number(port), to);
    socket.on("error", () => upstream.destroy());
    upstream.on("error", () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  server.listen(0, host);
  await once(server, "listening");
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

test("what refuses us says why, and what to do", async () => {
  const plan = principalOf("plan");
  const stranger = await makeAuthority(secure.folder, "stranger");
  const otherName = await forwardFrom("127.0.0.2", secure.broker);
  const { clickhouse, registry, ...others } = configOf(scram(plan));
  const [password, token, unknown, expired, misnamed, mechanism, ofRegistry, unknownToUs] = await Promise.all([
    refusalOf(configOf({ ...scram(plan), password: "wrong" })),
    refusalOf(
      configOf({
        mechanism: "oauthbearer",
        oauth: { endpoint: provider.endpoint, clientId: plan, clientSecret: "wrong" },
      }),
    ),
    refusalOf(configOf(scram(plan), { ca: stranger })),
    refusalOf(configOf(scram(plan), { brokers: [secure.expired] })),
    refusalOf(configOf(scram(plan), { brokers: [otherName.address] })),
    refusalOf(configOf({ mechanism: "oauthbearer", tokenFile: join(folder, "none") })),
    refusalOf({ ...others, clickhouse, registry: { ...registry, passwordFile: undefined, password: "wrong" } }),
    refusalOf({ ...others, registry, clickhouse: { ...clickhouse, tls: { ca: stranger } } }),
  ]);
  expect(password).toMatch(/authentication failed.*kafka\.sasl has the name and password/);
  expect(token).toMatch(/token endpoint .* refuses client .*invalid_client; see that oauth\.clientId/);
  expect(unknown).toMatch(/name its PEM file in tls\.ca/);
  expect(expired).toMatch(/certificate has expired.*renew/);
  expect(misnamed).toMatch(/certificate is for other names: address it by one of those/);
  await otherName.close();
  expect(mechanism).toMatch(/none can't be read/);
  expect(ofRegistry).toMatch(/refuses our credentials/);
  expect(unknownToUs).toMatch(/ClickHouse could not.*name its PEM file in tls\.ca/);
});

test("a stage whose ACL is taken away waits, and goes on when it is back", async () => {
  const [write] = entries(acls()).filter(
    ({ principal, resourceName, operation }) =>
      principal === `User:${principalOf("generate")}` &&
      resourceName === `${prefix}responses` &&
      Number(operation) === numbers.Write,
  );
  if (write === undefined) throw new Error("generate may not write responses");
  await admin.deleteAcls({ filters: [write] });
  // One that no cached answer repeats: the stage itself has to write.
  const id = await ask("another question");
  const denied = `WRITE Topic:LITERAL:${prefix}responses`;
  await eventually("the denial", async () =>
    (await secure.reported(principalOf("generate"), "Denied")).has(denied) ? true : undefined,
  );
  expect(responses.get(id)).toBeUndefined();
  await admin.createAcls({ acl: [write] });
  expect(await answered(id)).toMatchObject({ status: "ok", text: "answer" });
  expect(responses.get(id)).toHaveLength(1);
});
