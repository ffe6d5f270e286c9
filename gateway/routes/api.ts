// All addresses of the API on the gateway's server.
import type { FastifyInstance } from "fastify";
import type { Topic } from "../../schemas/records.ts";
import type { SessionOf } from "../../state/session.ts";
import type { CancelPublisher } from "../cancel.ts";
import type { ConnectionLimit } from "../connection-limit.ts";
import type { Replies } from "../replies.ts";
import type { Batches } from "../batches/open.ts";
import type { Send } from "../send.ts";
import type { AnswerDependencies } from "./answer.ts";
import { addBatches } from "./batches.ts";
import { addCancel } from "./cancel.ts";
import { addChat } from "./chat.ts";
import { addEmbeddings, type EmbeddingsDependencies } from "./embeddings.ts";
import { addFeedback } from "./feedback.ts";
import { addFiles } from "./files.ts";
import { addMessages } from "./messages.ts";
import { addModels } from "./models.ts";
import { addRequests } from "./requests.ts";
import { addResponses } from "./responses.ts";

export interface ApiDependencies extends AnswerDependencies {
  session: SessionOf<{ tables: ["ClickHouse"] }>;
  connectionLimit: ConnectionLimit;
  cancel: CancelPublisher;
  send: Send<Topic<"feedback">>;
  embedder: EmbeddingsDependencies["embedder"];
  health: Replies["health"];
  batches: Batches;
}

export function addApi(server: FastifyInstance, dependencies: ApiDependencies): void {
  const { session, connectionLimit, cancel, send, embedder, health, batches, ...answering } = dependencies;
  const { callerOf, arms, clock } = answering;
  const { models: aliases } = session.config.gateway;
  const { tenantBytes } = session.config.batch;
  const { clickhouse, codec, topic } = session;
  addChat(server, { ...answering, aliases });
  addResponses(server, { ...answering, aliases, clickhouse });
  addMessages(server, { ...answering, aliases });
  addEmbeddings(server, { callerOf, embedder, connectionLimit });
  addModels(server, { callerOf, arms, aliases, started: Math.floor(clock() / 1_000) });
  addFeedback(server, {
    ...{ callerOf, send, codec, topic: topic("feedback"), connectionLimit, clickhouse, clock },
    redactSecret: session.config.privacy.redact.secret,
  });
  addFiles(server, { callerOf, batches, tenantBytes });
  addBatches(server, { callerOf, batches, clock });
  addRequests(server, { callerOf, clickhouse });
  addCancel(server, { callerOf, cancel, connectionLimit });
  addHealth(server, health);
}

/** GET /healthz, for load balancers: whether this gateway can have requests answered. */
export function addHealth(server: FastifyInstance, health: () => { joined: boolean; partitions: number }): void {
  server.get("/healthz", { exposeHeadRoute: true }, (_request, reply) => {
    const { joined, partitions } = health();
    return reply.code(joined ? 200 : 503).send({ status: joined ? "ok" : "unavailable", partitions });
  });
}
