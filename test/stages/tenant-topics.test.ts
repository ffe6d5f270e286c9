// Tenants that write to Kafka themselves, on a broker that allows nothing by itself: each tenant
// has a principal, and the ACLs that `precedent topology --acls` prints make it that tenant.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin, Kafka as KafkaClient, Producer } from "kafkajs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runForget } from "../../analysis/forget/open.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages, type RunningStages, type StageName } from "../../pipelines/up.ts";
import { principalOf } from "../../cli/topology.ts";
import { configSchema, type Config } from "../../config/schema.ts";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { topicName } from "../../connections/kafka/topics.ts";
import { aclsOf } from "../../pipelines/acls.ts";
import { topology } from "../../pipelines/topology.ts";
import { createLog } from "../../runtime/log.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { DeadLetter, Delta, Request, Response } from "../../schemas/types.ts";
import { groupName } from "../../runtime/running-stage.ts";
import { entries } from "../support/acls.ts";
import { follow } from "../support/follow.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { answersAs, startSecureBroker, type SecureBroker } from "../support/secure-broker.ts";
import { databaseName, testStack, uniquePrefix } from "../support/stack.ts";
import { eventually, requestOf } from "../support/system.ts";
import { startIdentityProvider, type IdentityProvider } from "../support/tokens.ts";

/** beta does not ask for pieces of its answers. */
const tenants = {
  acme: { principal: "User:acme-client", deltas: true },
  beta: { principal: "User:beta-client", deltas: false },
};
/** This one comes while everything runs. */
const late = { gamma: { principal: "User:gamma-client", deltas: true } };
const all = { ...tenants, ...late };
type Tenant = keyof typeof all;
const userOf = (tenant: Tenant): string => all[tenant].principal.replace("User:", "");
/** These have principals of their own; all else is the operator's here. */
const own = ["intake", "outlet", "generate"] as const satisfies readonly StageName[];
const names = [
  "admin",
  ...["operator", ...own].map((stage) => principalOf(stage)),
  userOf("acme"),
  userOf("beta"),
  userOf("gamma"),
];
const users = Object.fromEntries(names.map((name) => [name, `secret-of-${name}`]));
const prefix = uniquePrefix();
const database = databaseName();
const log = createLog({ level: "silent" });

let folder: string;
let model: TestModel;
let provider: IdentityProvider;
let secure: SecureBroker;
let admin: Admin;
let operator: Session;
const running: { session: Session; stages: RunningStages }[] = [];
const responses: Response[] = [];
const letters: DeadLetter[] = [];
const clients = {} as Record<
  Tenant,
  { client: KafkaClient; producer: Producer; admin: Admin; read: Response[]; pieces: Delta[] }
>;
const stops: (() => Promise<void>)[] = [];

const scram = (name: string) => ({ mechanism: "scram-sha-512", username: name, password: users[name] });

const configOf = (name: string): Config =>
  configSchema.parse({
    tenants,
    arms: [
      { name: "small", type: "recorded", dispatch: "queued", file: join(folder, "log.jsonl"), cost: 0.1 },
      { name: "words", type: "openai", baseUrl: model.baseUrl, model: "mock-1", retries: 0, dispatch: "queued" },
    ],
    selection: { explore: { trials: 0, thresholds: 0, orders: 0 } },
    ...{ record: { batchMs: 200 }, cache: { enabled: false } },
    kafka: {
      ...{ brokers: [secure.broker], prefix, partitions: 2, sessionTimeoutMs: 6_000 },
      ...{ tls: { ca: secure.ca }, sasl: scram(name) },
    },
    registry: { url: testStack().registryUrl },
    clickhouse: { ...testStack().clickhouse, database },
    stack: { folder: join(folder, "stack") },
  });

const clientOf = (name: string): KafkaClient =>
  createKafkaClient({ brokers: [secure.broker], clientId: name, config: configOf(name).kafka, log });

async function startAs(principal: string, stages: readonly StageName[]): Promise<void> {
  const session = await openSession(configOf(principal), { log, clientId: principal });
  running.push({ session, stages: await startStages(session, { stages }) });
}

/** What a tenant's own principal reads, in a group of its own. */
async function openClient(tenant: Tenant): Promise<void> {
  const client = clientOf(userOf(tenant));
  const [producer, asked] = [client.producer(), client.admin()];
  const groupId = `${topicName(prefix, "tenant-responses", tenant)}.reader`;
  const consumer = client.consumer({ groupId, allowAutoTopicCreation: false });
  clients[tenant] = { client, producer, admin: asked, read: [], pieces: [] };
  await Promise.all([producer.connect(), asked.connect(), consumer.connect()]);
  const ofPieces = topicName(prefix, "tenant-deltas", tenant);
  const topics = [topicName(prefix, "tenant-responses", tenant), ...(all[tenant].deltas ? [ofPieces] : [])];
  await consumer.subscribe({ topics, fromBeginning: true });
  await consumer.run({
    async eachMessage({ topic, message: { value } }) {
      if (topic === ofPieces) {
        const piece = await operator.codec.decode("tenant-deltas", value ?? Buffer.alloc(0));
        if (piece.ok) clients[tenant].pieces.push(piece.value);
        return;
      }
      const decoded = await operator.codec.decode("responses", value ?? Buffer.alloc(0));
      if (decoded.ok) clients[tenant].read.push(decoded.value);
    },
  });
  stops.push(async () => {
    await Promise.all([consumer.disconnect(), producer.disconnect(), asked.disconnect()]);
  });
}

/** What `precedent topology --acls` prints of these tenants and of the stages. */
const aclsFor = (named: Partial<typeof all>) =>
  entries(
    aclsOf(topology, {
      ...{ prefix, arms: ["small", "words"], principal: principalOf },
      tenants: Object.entries(named).map(([name, tenant]) => ({ name, ...tenant })),
      topic: (name, owner) => topicName(prefix, name, owner),
      group: (stage, arm) => groupName(prefix, stage, arm),
    }),
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-tenants-test-"));
  await writeFile(join(folder, "log.jsonl"), JSON.stringify({ request: "question", response: "answer" }));
  model = await startModel();
  provider = await startIdentityProvider(users, 300);
  secure = await startSecureBroker({ users, jwks: provider.jwks, answers: answersAs(scram("admin")) });
  admin = clientOf("admin").admin();
  await admin.connect();
  await admin.createAcls({ acl: aclsFor(tenants) });
  operator = await openSession(configOf(principalOf("operator")), { log, clientId: "operator" });
  running.push({
    session: operator,
    stages: await startStages(operator, { stages: ["plan", "record"] }),
  });
  await follow(operator, "responses", (response) => void responses.push(response));
  await follow(operator, "dead-letters", (letter) => void letters.push(letter));
  for (const stage of own) await startAs(principalOf(stage), [stage]);
  await openClient("acme");
  await openClient("beta");
});

afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await Promise.all(running.map(({ stages }) => stages.stop()));
  await operator?.clickhouse.command(`DROP DATABASE IF EXISTS ${database}`);
  await Promise.all([...running.map(({ session }) => session.close()), admin.disconnect()]);
  await Promise.all([provider.close(), secure.stop(), model.stop()]);
  await rm(folder, { recursive: true, force: true });
});

const put = (tenant: Tenant, topic: string, key: string, value: Buffer) =>
  clients[tenant].producer.send({ topic: prefix + topic, messages: [{ key, value }] });

/** A question as a tenant's principal puts it into a topic; resolves to its id. */
async function ask(tenant: Tenant, topic: string, more: Partial<Request> = {}, question = "question"): Promise<string> {
  const { allow, ...plain } = requestOf(question, more);
  const request = { ...plain, allow: more.allow ?? { ...allow, arms: ["small"] } };
  await put(tenant, topic, request.id, operator.codec.encode("requests", request));
  return request.id;
}

const read = (tenant: Tenant, id: string): Promise<Response> =>
  eventually(`the response to ${id} in the topic of ${tenant}`, () =>
    Promise.resolve(clients[tenant].read.find(({ requestId }) => requestId === id)),
  );

test("a tenant is answered in its own topic, as the tenant that it is", async () => {
  const ids = [await ask("acme", "requests.acme"), await ask("acme", "requests.acme", { tenant: "acme" })];
  for (const id of ids) expect(await read("acme", id)).toMatchObject({ tenant: "acme", status: "ok", text: "answer" });
  const other = await ask("beta", "requests.beta");
  expect(await read("beta", other)).toMatchObject({ tenant: "beta", text: "answer" });
  expect(clients.acme.read.map(({ requestId }) => requestId).sort()).toEqual([...ids].sort());
  expect(clients.beta.read.map(({ requestId }) => requestId)).toEqual([other]);
});

test("a tenant that asks for pieces of its answers has them in its own topic while the arm still speaks, in order", async () => {
  const { allow } = requestOf("question");
  const more: Partial<Request> = { deltas: true, replyPartition: 1, allow: { ...allow, arms: ["words"] } };
  const question = "held one two three four";
  const [mine, other] = [
    await ask("acme", "requests.acme", more, question),
    await ask("beta", "requests.beta", more, question),
  ];
  const saidOf = (id: string): Delta[] => clients.acme.pieces.filter(({ requestId }) => requestId === id);
  await eventually("the first piece", () => Promise.resolve(saidOf(mine).length > 0 ? true : undefined));
  expect(clients.acme.read.map(({ requestId }) => requestId)).not.toContain(mine);
  model.release();
  const { text } = await read("acme", mine);
  expect(text).toBe(question);
  // Those behind it may be lost: the response is what counts.
  const reported = saidOf(mine);
  expect(reported.map(({ index }) => index)).toEqual(reported.map((_, index) => index));
  expect(text.startsWith(reported.map((piece) => piece.text).join(""))).toBe(true);
  // Another tenant's are in no topic but the common one, where it did not ask for a copy.
  expect(await read("beta", other)).toMatchObject({ tenant: "beta", text: question });
  expect(new Set(clients.acme.pieces.map(({ tenant }) => tenant))).toEqual(new Set(["acme"]));
  const topics = await admin.listTopics();
  expect(topics.filter((topic) => topic.startsWith(`${prefix}deltas.`))).toEqual([`${prefix}deltas.acme`]);
});

test("the broker lets no tenant write as another, or past intake", async () => {
  for (const topic of [
    "requests.beta",
    "feedback.beta",
    "requests",
    "feedback",
    "responses.acme",
    "deltas.acme",
    "dead-letters",
  ])
    await expect(ask("acme", topic), topic).rejects.toMatchObject({ type: "TOPIC_AUTHORIZATION_FAILED" });
});

test("the broker lets no tenant read what another was answered, or what all were", async () => {
  const { client } = clients.beta;
  for (const topic of [
    "responses.acme",
    "alternative-answers.acme",
    "requests.acme",
    "deltas.acme",
    "deltas",
    "responses",
    "requests",
  ]) {
    const consumer = client.consumer({ groupId: `${prefix}responses.beta.other`, allowAutoTopicCreation: false });
    await consumer.connect();
    const reading = consumer.subscribe({ topic: prefix + topic, fromBeginning: true });
    await expect(reading, topic).rejects.toMatchObject({ type: "TOPIC_AUTHORIZATION_FAILED" });
    await consumer.disconnect();
  }
  const groupId = `${prefix}responses.acme.reader`;
  await expect(clients.beta.admin.fetchOffsets({ groupId })).rejects.toThrow();
  // kafkajs says of it that there is no coordinator.
  const denied = await secure.reported(userOf("beta"), "Denied");
  expect([...denied].some((line) => line.endsWith(` Group:LITERAL:${groupId}`))).toBe(true);
});

test("a record that claims another tenant is dead-lettered whole, and gets no answer", async () => {
  const request = requestOf("question", { tenant: "beta" });
  const bytes = operator.codec.encode("requests", request);
  await put("acme", "requests.acme", request.id, bytes);
  const broken = Buffer.from("no Avro at all");
  await put("acme", "requests.acme", "broken", broken);
  const letter = (key: string) =>
    eventually(`the dead letter of ${key}`, () => Promise.resolve(letters.find((one) => String(one.key) === key)));
  expect(await letter(request.id)).toMatchObject({
    ...{ tenant: "acme", stage: "intake-requests", code: "wrong_tenant", topic: `${prefix}requests.acme` },
    ...{ value: bytes, reason: 'the record says that its tenant is "beta", in a topic of "acme"' },
  });
  expect(await letter("broken")).toMatchObject({ tenant: "acme", code: "undecodable", value: broken });
  // What came to the same partition behind them is answered, and they are not.
  const ids = await Promise.all(Array.from({ length: 8 }, () => ask("acme", "requests.acme")));
  for (const id of ids) await read("acme", id);
  expect(responses.map(({ requestId }) => requestId)).not.toContain(request.id);
});

test("feedback counts for the tenant whose topic it came by, and that which claims another does not", async () => {
  const id = await ask("acme", "requests.acme");
  await read("acme", id);
  const good = { id: `${id}-good`, requestId: id, kind: "thumbs", value: 1, createdAt: Date.now() } as const;
  const feedback = plainFeedback(good);
  for (const one of [{ ...feedback, id: `${id}-forged`, tenant: "beta" }, feedback])
    await put("acme", "feedback.acme", id, operator.codec.encode("feedback", one));
  const rows = await eventually("the feedback and the dead letter in ClickHouse", async () => {
    const [found] = await operator.clickhouse.query<{ feedback: string[][]; letters: number }>(
      `SELECT (SELECT groupArray([tenant, request_id]) FROM feedback FINAL) AS feedback,
              (SELECT countIf(stage = 'intake-feedback' AND code = 'wrong_tenant') FROM dead_letters FINAL) AS letters`,
    );
    return found !== undefined && found.feedback.length > 0 && Number(found.letters) > 0 ? found : undefined;
  });
  expect(rows.feedback).toEqual([["acme", id]]);
});

test("precedent forget finds what a tenant put into its own topics, whatever it says of itself", async () => {
  const options = { dryRun: true, waitMs: 0, onProgress: () => undefined, signal: new AbortController().signal };
  const report = await runForget({ tenant: "beta" }, options, operator);
  const own = Object.fromEntries(
    report.remains.map(({ location, count }) => [location.replace(`topic ${prefix}`, ""), count]),
  );
  // It asked twice.
  expect(own).toMatchObject({ "requests.beta": 2, "responses.beta": 2, requests: 2, responses: 2 });
  expect(Object.keys(own).filter((name) => name.endsWith(".acme"))).toEqual([]);
  expect(report.searched.topics).toEqual(
    expect.arrayContaining(
      ["requests", "feedback", "responses", "alternative-answers", "deltas"].map((name) => `${prefix}${name}.acme`),
    ),
  );
});

/** In all processes: intake after outlet and generate, as the documentation says. */
async function replaceTenants(next: Parameters<RunningStages["replaceTenants"]>[0]): Promise<void> {
  for (const { stages } of [...running].reverse()) await stages.replaceTenants(next);
}

test("a tenant that comes while the stages run is answered in its own topics; what others ask meanwhile is answered once", async () => {
  await admin.createAcls({ acl: aclsFor(late) });
  // The operator makes the topics; the stages may make none.
  await operator.prepareTenants(all);
  const asked: string[] = [];
  let changing = true;
  const asking = (async () => {
    while (changing) {
      asked.push(await ask("acme", "requests.acme"));
      await sleep(100);
    }
  })();
  await replaceTenants(all);
  changing = false;
  await asking;
  await openClient("gamma");
  expect(await read("gamma", await ask("gamma", "requests.gamma"))).toMatchObject({ tenant: "gamma", text: "answer" });
  for (const id of asked) expect(await read("acme", id)).toMatchObject({ tenant: "acme", text: "answer" });
  expect(asked.filter((id) => clients.acme.read.filter(({ requestId }) => requestId === id).length !== 1)).toEqual([]);
  const { allow } = requestOf("question");
  const more: Partial<Request> = { deltas: true, replyPartition: 1, allow: { ...allow, arms: ["words"] } };
  await eventually("pieces of an answer in gamma's own topic", async () => {
    await read("gamma", await ask("gamma", "requests.gamma", more, "slowly one two three four"));
    return clients.gamma.pieces.length > 0 ? true : undefined;
  });
});

test("a tenant that is taken out while the stages run is read no more, and the others are", async () => {
  await replaceTenants({ acme: tenants.acme });
  const left = await ask("beta", "requests.beta");
  for (let i = 0; i < 4; i++) await read("acme", await ask("acme", "requests.acme"));
  expect(responses.map(({ requestId }) => requestId)).not.toContain(left);
  await replaceTenants(tenants);
  expect(await read("beta", left)).toMatchObject({ tenant: "beta", text: "answer" });
});

/**
 * A producer looks whether a former one has left a transaction open in its outputs. If one is open
 * at that moment, it looks for its holder, which may be another stage's.
 */
const isLook =
  /^(READ Topic|DESCRIBE Topic:LITERAL:__(consumer_offsets|transaction_state)$|DESCRIBE TransactionalId:LITERAL:)/;

test("intake, outlet and generate were denied nothing that they need", async () => {
  for (const stage of own) {
    const denied = await secure.reported(principalOf(stage), "Denied");
    expect([stage, [...denied].filter((line) => !isLook.test(line))]).toEqual([stage, []]);
  }
});
