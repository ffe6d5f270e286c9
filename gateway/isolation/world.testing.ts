// A gateway with everything behind it, in memory: the real routes, access, keys, limits and tokens
// over the stages of stages.testing.ts. What producers send is encoded and decoded as on a topic.
import { readFileSync } from "node:fs";
import avro, { type Schema } from "avsc";
import type { FastifyReply } from "fastify";
import pino from "pino";
import type { Dashboard } from "../page/data/dashboard.ts";
import type { TopicName } from "../../schemas/records.ts";
import type { Cancel, Feedback, Request } from "../../schemas/types.ts";
import { addAccess, createAccess, createAdminAccess, createTokenAccess } from "../access.ts";
import { createAsk } from "../ask.ts";
import { createCancel } from "../cancel.ts";
import { createFeedbackTokens } from "../feedback-token.ts";
import { mostTokens, noSpendLimits } from "../keys/key.testing.ts";
import { createKeyTable } from "../keys/table.ts";
import { createMayLook } from "../page/access.ts";
import { addPageRoutes } from "../page/routes.ts";
import { createConnectionLimit } from "../connection-limit.ts";
import { addCancel } from "../routes/cancel.ts";
import { addChat } from "../routes/chat.ts";
import { addEmbeddings } from "../routes/embeddings.ts";
import { addFeedback, publish } from "../routes/feedback.ts";
import { addModels } from "../routes/models.ts";
import { addRequests } from "../routes/requests.ts";
import { addResponses } from "../routes/responses.ts";
import { createServer } from "../server.ts";
import { createWaiting } from "../waiting.ts";
import { arms, createStages } from "./stages.testing.ts";
import { createDocuments, createTables } from "./tables.testing.ts";

const schemaOf = (name: string) =>
  avro.Type.forSchema(
    JSON.parse(readFileSync(new URL(`../../schemas/avro/${name}.avsc`, import.meta.url), "utf8")) as Schema,
  );
const schemas = { requests: schemaOf("request"), feedback: schemaOf("feedback"), cancels: schemaOf("cancel") };
type Sent = keyof typeof schemas;

/** `tenantOf`: of a request, by whom its client says to be. */
export function createWorld(now: () => number, tenantOf: (request: Request) => string) {
  const failures: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void failures.push(line) });
  const tables = createTables();
  const documents = createDocuments();
  const waiting = createWaiting();
  const connectionLimit = createConnectionLimit(65_536);
  const stages = createStages({ tables, waiting, documents, now });
  const keys = createKeyTable({ gateways: () => 1, holdSpending: noSpendLimits, mostTokens, clock: now, now });
  const codec = {
    encode: (name: TopicName, record: unknown): Buffer => schemas[name as Sent].toBuffer(record),
  };
  /** Positions of the requests that were produced, in order. */
  const produced: string[] = [];
  const send = ({ topic, value }: { topic: string; value: Buffer | null }): Promise<void> => {
    const record = schemas[topic as Sent].fromBuffer(value ?? Buffer.alloc(0)) as unknown;
    if (topic === "requests") {
      const request = record as Request & { id: string };
      produced.push(request.id);
      stages.request(request, tenantOf(request));
    } else if (topic === "feedback") stages.feedback(record as Feedback);
    else stages.cancel(record as Cancel);
    return Promise.resolve();
  };
  const cancel = createCancel({ send, codec, topic: "cancels" as never, log, clock: now });
  const ask = createAsk({
    ...{
      waiting,
      connectionLimit,
      send,
      codec,
      topic: "requests" as never,
      cancel,
      clock: now,
      replyPartition: () => 0,
    },
    limits: { deadlineMs: 3_600_000, maxDeadlineMs: 3_600_000 },
  });
  const server = createServer({ maxBodyBytes: 65_536, slowReaderMs: 60_000, log });
  /** Connections by the name that a client gives its own, so that it can close it. */
  const connections = new Map<string, FastifyReply["raw"]>();
  server.addHook("onRequest", ({ headers: { "x-connection": name } }, reply, done) => {
    if (typeof name === "string") connections.set(name, reply.raw);
    done();
  });
  const tokens = createFeedbackTokens({ secret: "of this world", lifeMs: 3_600_000, now });
  const access = createAccess(keys);
  const mustBeAdmin = createAdminAccess(keys);
  const feedbackBy = createTokenAccess({ tokens, keys }, access);
  const callerOf = addAccess(server, { callerOf: access, mustBeAdmin, feedbackBy });
  const streams = { heartbeatMs: 60_000, slowReaderMs: 60_000 };
  const answering = { callerOf, ask, arms: () => arms, streams, clock: now, tokens };
  addChat(server, answering);
  addResponses(server, { ...answering, clickhouse: { query: () => Promise.resolve([]) } });
  const embedder = {
    model: "mini",
    dimension: 2,
    embed: (text: string) => Promise.resolve(Float32Array.of(text.length, 1)),
  };
  addEmbeddings(server, { callerOf, connectionLimit, embedder: () => Promise.resolve(embedder) });
  addModels(server, { callerOf, arms: () => arms, started: 0 });
  addFeedback(server, {
    callerOf,
    send,
    codec,
    topic: "feedback" as never,
    connectionLimit,
    clickhouse: tables,
    clock: now,
  });
  addRequests(server, { callerOf, clickhouse: tables });
  addCancel(server, { callerOf, cancel, connectionLimit });
  // The rows of all tenants: a caller that gets access sees every one.
  const everything = () => Promise.resolve(tables.all().map(({ columns, gives }) => ({ ...columns, ...gives })));
  const dashboard = { clickhouse: { query: everything } } as unknown as Dashboard;
  const publishing = { send, codec, topic: "feedback" as never, connectionLimit };
  const giveFeedback = (feedback: Feedback): Promise<void> => publish(publishing, [feedback]);
  addPageRoutes(server, { mayLook: createMayLook(mustBeAdmin), dashboard, giveFeedback, clock: now });
  const close = (name: string): void => void connections.get(name)?.destroy();
  return { server, stages, documents, keys, waiting, connectionLimit, produced, failures, close };
}
export type World = ReturnType<typeof createWorld>;
