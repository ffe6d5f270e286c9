// What the gateway needs: its reply partitions, a producer, ClickHouse for what a client may ask of
// its own requests, and an HTTP server that takes no request before the partitions are read.
import { localCaller } from "../gateway/access.ts";
import { createAsk } from "../gateway/ask.ts";
import { createPlaces } from "../gateway/places.ts";
import { createReplies } from "../gateway/replies.ts";
import { addChat } from "../gateway/routes/chat.ts";
import { addFeedback } from "../gateway/routes/feedback.ts";
import { addHealth } from "../gateway/routes/health.ts";
import { addModels } from "../gateway/routes/models.ts";
import { addRequests } from "../gateway/routes/requests.ts";
import { createSend } from "../gateway/send.ts";
import { createServer, listen } from "../gateway/server.ts";
import { createWaiting } from "../gateway/waiting.ts";
import { gateway } from "../pipelines/gateway.ts";
import type { SessionOf } from "../serving/session.ts";
import { groupName, type RunningStage } from "../serving/stage.ts";

/** Where clients look for it, unless it is configured. */
const usualPort = 7717;
const pollMs = 50;

export interface RunningGateway extends RunningStage {
  /** Of OpenAI clients: http://HOST:PORT/v1 */
  baseUrl: string;
}

export async function startGateway(session: SessionOf<typeof gateway>, instance: string): Promise<RunningGateway> {
  const { config, kafka, codec, clickhouse, topic } = session;
  const { prefix, sessionTimeoutMs } = config.kafka;
  const { maxBodyBytes, maxOpen, acceptMs } = config.gateway;
  const log = session.log.child({ stage: gateway.name });
  const clock = Date.now;
  const waiting = createWaiting();
  const places = createPlaces(maxOpen);
  const replies = await createReplies({
    ...{ kafka, codec, topic: topic("responses"), deltas: topic("deltas"), group: groupName(prefix, gateway.name) },
    ...{ instance, sessionTimeoutMs, waiting, log },
  });
  const producer = kafka.plainProducer();
  const send = createSend(producer, acceptMs);
  const arms = () => session.arms.routed();
  const callerOf = localCaller;

  const ask = createAsk({
    ...{ waiting, places, send, codec, topic: topic("requests"), limits: config.limits, clock },
    replyPartition: replies.next,
  });
  const server = createServer({ maxBodyBytes, log });
  // Slow readers of answered streams hold connections, too.
  server.server.maxConnections = 2 * maxOpen + 64;
  addChat(server, { callerOf, ask, arms, streams: config.gateway, clock });
  addModels(server, { callerOf, arms, started: Math.floor(clock() / 1_000) });
  addFeedback(server, { callerOf, send, codec, topic: topic("feedback"), places, clock });
  addRequests(server, { callerOf, clickhouse });
  addHealth(server, replies.health);
  const url = await listen(server, config.gateway, usualPort).catch(async (error: unknown) => {
    await Promise.all([replies.stop(), producer.close()]);
    throw error;
  });
  const baseUrl = `${url}/v1`;
  log.info({ baseUrl, tenant: "default" }, "the gateway serves clients on this machine");
  return {
    name: gateway.name,
    baseUrl,
    health: () => ({ ...replies.health(), inFlight: places.open() }),
    async stop() {
      // Those that are open are answered; new connections are refused meanwhile.
      server.server.close();
      const end = performance.now() + config.limits.drainMs;
      while (places.open() > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, pollMs));
      await server.close();
      await Promise.all([replies.stop(), producer.close()]);
    },
  };
}
