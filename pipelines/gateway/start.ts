// What the gateway needs: its reply partitions, the keys, a producer, ClickHouse for what a client
// may ask of its own requests, and an HTTP server that takes no request before partitions and keys
// are read.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { embeddingModelFolder, pageFolder } from "../../config/assets.ts";
import type { Config } from "../../config/schema.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import { addAccess, createAccess, createAdminAccess, createTokenAccess } from "../../gateway/access.ts";
import { createAsk, deadlineOf } from "../../gateway/ask.ts";
import { createCancel } from "../../gateway/cancel.ts";
import { createFeedbackTokens } from "../../gateway/feedback-token.ts";
import { createSpendLimits } from "../../gateway/keys/spend-limits.ts";
import { createSpending } from "../../gateway/keys/spending.ts";
import { createKeyTable } from "../../gateway/keys/table.ts";
import { addMetrics } from "../../gateway/measured.ts";
import { createPlaces } from "../../gateway/places.ts";
import { createReplies } from "../../gateway/replies.ts";
import { createMayLook } from "../../gateway/page/access.ts";
import { addFiles, readFiles } from "../../gateway/page/files.ts";
import { addLive } from "../../gateway/page/live.ts";
import { addPageRoutes } from "../../gateway/page/routes.ts";
import { addCancel } from "../../gateway/routes/cancel.ts";
import { addChat } from "../../gateway/routes/chat.ts";
import { addEmbeddings } from "../../gateway/routes/embeddings.ts";
import { addFeedback } from "../../gateway/routes/feedback.ts";
import { addHealth } from "../../gateway/routes/health.ts";
import { addModels } from "../../gateway/routes/models.ts";
import { addRequests } from "../../gateway/routes/requests.ts";
import { addResponses } from "../../gateway/routes/responses.ts";
import { createSend } from "../../gateway/send.ts";
import { createServer, listen } from "../../gateway/server.ts";
import { addTracing } from "../../gateway/tracing.ts";
import { createUnsent } from "../../gateway/unsent.ts";
import { createWaiting } from "../../gateway/waiting.ts";
import { createGatewayMetrics } from "../../gateway/metrics.ts";
import { mostCost } from "../../arms/routed.ts";
import { gateway } from "./pipeline.ts";
import { followTable } from "../../runtime/table.ts";
import { readAccountCosts } from "../../gateway/keys/account-costs.ts";
import type { SessionOf } from "../../state/session.ts";
import { groupName, type RunningStage } from "../../runtime/running-stage.ts";
import { openDashboard } from "./page.ts";
import type { Session } from "../session.ts";

/** Where clients look for it, unless it is configured. */
const usualPort = 7717;
const pollMs = 50;

export interface RunningGateway extends RunningStage {
  /** Of OpenAI clients: http://HOST:PORT/v1 */
  baseUrl: string;
}

export async function startGateway(
  session: SessionOf<typeof gateway> & Pick<Session, "connections">,
  instance: string,
): Promise<RunningGateway> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { maxBodyBytes, maxOpen, acceptMs, slowReaderMs, heartbeatMs, maxUnsentBytes } = config.gateway;
  const log = session.log.child({ stage: gateway.name });
  const clock = Date.now;
  const waiting = createWaiting();
  const places = createPlaces(maxOpen);
  const spending = createSpending({
    read: (accounts, since) => readAccountCosts(clickhouse, accounts, since),
    gateways: () => replies.gateways(),
    ...{ now: clock, clock: () => performance.now(), log },
  });
  const replies = await createReplies({
    ...{ kafka, codec, topic: topic("responses"), deltas: topic("deltas"), group: groupName(prefix, gateway.name) },
    ...{ instance, sessionTimeoutMs, waiting, onResponse: spending.answered, log },
  });
  const producer = kafka.plainProducer();
  const send = createSend(producer, acceptMs);
  const arms = () => session.arms.routed();
  const holdSpending = createSpendLimits({
    ...{ spending, now: clock },
    mostCost: (request) => mostCost(request, arms(), config.selection.tokenBudget),
    mostMs: ({ allow }) => deadlineOf(allow, config.limits),
  });
  const keys = createKeyTable({ gateways: replies.gateways, holdSpending, clock: () => performance.now(), now: clock });
  let open = false;
  const keyReader = followTable({
    ...{ kafka, codec, log, topic: topic("keys"), record: "keys" as const },
    apply(changes) {
      const before = keys.size();
      for (const { key, value } of changes) {
        const problem = value === null ? keys.remove(key) : keys.apply(key, value);
        if (typeof problem === "string") log.error({ key, problem }, "an API key is unusable");
      }
      if (open && before === 0 && keys.size() > 0) log.warn("there are API keys now: every request needs one");
    },
  });
  const embedder = openEmbedder(config, log);
  const dashboard = openDashboard(session);
  const close = (): Promise<unknown> =>
    Promise.all([replies.stop(), keyReader.stop(), producer.close(), embedder.close(), dashboard.stop()]);

  const cancel = createCancel({ send, codec, topic: topic("cancels"), log, clock });
  const ask = createAsk({
    ...{ waiting, places, send, codec, topic: topic("requests"), limits: config.limits, cancel, clock },
    replyPartition: replies.next,
  });
  const metrics = createGatewayMetrics(session.metrics);
  const unsent = createUnsent({
    maxBytes: maxUnsentBytes,
    onCut(bytes) {
      metrics.cut();
      log.warn({ bytes, maxUnsentBytes }, "a slow reader is disconnected: all together have left too much unread");
    },
  });
  const server = createServer({ maxBodyBytes, slowReaderMs, unsent, log });
  const { feedbackSecret: secret, feedbackTokenMs: lifeMs } = config.gateway;
  const tokens = secret === undefined ? undefined : createFeedbackTokens({ secret, lifeMs, now: clock });
  const access = createAccess(keys);
  const mustBeAdmin = createAdminAccess(keys);
  const callerOf = addAccess(server, {
    ...{ callerOf: access, mustBeAdmin, feedbackBy: createTokenAccess({ tokens, keys }, access) },
  });
  metrics.holds(places.open, unsent.total);
  addMetrics(server, metrics);
  const spanOf = addTracing(server, session.tracing);
  // Slow readers of answered streams hold connections, too.
  server.server.maxConnections = 2 * maxOpen + 64;
  const answering = { callerOf, spanOf, ask, arms, clock, tokens, streams: { heartbeatMs, slowReaderMs, unsent } };
  addChat(server, answering);
  addResponses(server, answering);
  addEmbeddings(server, { callerOf, embedder: embedder.open, places });
  addModels(server, { callerOf, arms, started: Math.floor(clock() / 1_000) });
  addFeedback(server, { callerOf, send, codec, topic: topic("feedback"), places, clock });
  addRequests(server, { callerOf, clickhouse });
  addCancel(server, { callerOf, cancel, places });
  addHealth(server, replies.health);
  const looking = { mayLook: createMayLook(mustBeAdmin), dashboard };
  addPageRoutes(server, looking);
  addLive(server, looking);
  addFiles(server, readFiles(pageFolder()));
  const listening = keyReader.caughtUp.then(() => listen(server, config.gateway, usualPort));
  const url = await listening.catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const baseUrl = `${url}/v1`;
  open = true;
  if (keys.size() > 0) log.info({ baseUrl, keys: keys.size() }, "the gateway serves clients with an API key");
  else
    log.info({ baseUrl, tenant: "default" }, "the gateway serves clients on this machine, for there are no API keys");
  return {
    name: gateway.name,
    baseUrl,
    health: () => ({ ...replies.health(), inFlight: places.open() }),
    async stop() {
      // Those that are open are answered; new connections are refused meanwhile.
      server.server.close();
      const end = performance.now() + config.limits.drainMs;
      while (places.open() > 0 && performance.now() < end) await sleep(pollMs);
      cancel.stop();
      await server.close();
      await close();
    },
  };
}

/**
 * One for /v1/embeddings, opened when it is first asked for: most gateways never are. One that
 * can't be opened is tried again at the next request.
 */
function openEmbedder(config: Config, log: Logger): { open(): Promise<Embedder>; close(): Promise<void> } {
  let opened: Promise<Embedder> | undefined;
  return {
    open() {
      const folder = config.embedder.model ?? embeddingModelFolder();
      return (opened ??= createOnnxEmbedder({ ...config.embedder, folder, log }).catch((error: unknown) => {
        opened = undefined;
        log.error({ err: error }, "the embedding model can't be opened");
        throw error;
      }));
    },
    async close() {
      const embedder = await opened?.catch(() => undefined);
      await embedder?.close();
    },
  };
}
