// Opens the gateway: reply partitions, keys, producer, ClickHouse and an HTTP server that takes
// requests once partitions and keys are read.
import { setTimeout as sleep } from "node:timers/promises";
import { mostCost, mostTokens } from "../../arms/routed.ts";
import { deadlineOf } from "../../gateway/ask.ts";
import { openBatches } from "../../gateway/batches/open.ts";
import { openKeys } from "../../gateway/keys/open.ts";
import { openServer } from "../../gateway/open-server.ts";
import type { ConnectionLimit } from "../../gateway/connection-limit.ts";
import { listen } from "../../gateway/server.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import type { SessionOf } from "../../state/session.ts";
import { watchWhenAsked } from "../replay/load.ts";
import type { Session } from "../session.ts";
import { openAsking } from "./asking.ts";
import { openEmbedder } from "../embedder.ts";
import { lazily } from "../../connections/lazily.ts";
import { openDashboard } from "./page.ts";
import { gateway } from "./pipeline.ts";

const pollMs = 50;

export interface RunningGateway extends RunningStage {
  /** Base URL for OpenAI clients: http://HOST:PORT/v1 */
  baseUrl: string;
}

export async function startGateway(
  session: SessionOf<typeof gateway> & Pick<Session, "connections">,
  instance: string,
): Promise<RunningGateway> {
  const { config } = session;
  const log = session.log.child({ stage: gateway.name });
  const clock = Date.now;
  const asking = await openAsking(session, { instance, log, clock });
  const { producer, send, ask, cancel, replies, spending, connectionLimit } = asking;
  const arms = () => session.arms.routed();
  const keys = openKeysWithLimits(session, { spending, gateways: replies.gateways, log });
  const embedder = lazily(() =>
    openEmbedder(config, { log }).catch((error: unknown) => {
      log.error({ err: error }, "the embedding model can't be opened");
      throw error;
    }),
  );
  const load = watchWhenAsked(session, log);
  const batches = openBatches({
    ...{ session, producer, send, ask, cancel, keys: keys.table, arms, load: load.load, clock, log },
    owns: replies.owns,
  });
  const dashboard = openDashboard(session, {
    ...{ embedder: embedder.get, batches: batches.table, loadByArm: load.byArm },
  });
  const close = async (): Promise<void> => {
    await batches.stop();
    await Promise.all([
      ...[load.stop(), replies.stop(), keys.stop(), producer.close()],
      embedder.opened()?.then(
        (one) => one.close(),
        () => undefined,
      ),
      dashboard.stop(),
    ]);
  };
  const server = openServer(session, {
    ...{ session, keys: keys.table, connectionLimit, ask, cancel, send, arms, dashboard, batches, clock, log },
    ...{ embedder: embedder.get, health: replies.health },
  });
  const url = await Promise.all([keys.caughtUp, batches.caughtUp])
    .then(() => listen(server, config.gateway))
    .catch(async (error: unknown) => {
      await close();
      throw error;
    });
  const baseUrl = `${url}/v1`;
  keys.serving(baseUrl);
  return {
    name: gateway.name,
    baseUrl,
    health: () => ({ ...replies.health(), inFlight: connectionLimit.open() }),
    async stop() {
      // The gateway that takes over asks their unfinished lines again.
      await batches.stop();
      await drain(server, connectionLimit, config.limits.drainMs);
      cancel.stop();
      await server.close();
      await close();
    },
  };
}

/** Keys, with the most that a request may cost and take by the limits of the configuration. */
function openKeysWithLimits(
  session: SessionOf<typeof gateway>,
  options: Pick<Parameters<typeof openKeys>[1], "spending" | "gateways" | "log">,
): ReturnType<typeof openKeys> {
  const { arms, config } = session;
  const additions = {
    tokenBudget: config.selection.examples > 0 ? config.selection.tokenBudget : 0,
    documentBytes: config.limits.maxPromptBytes,
  };
  return openKeys(session, {
    ...options,
    mostCost: (request) => mostCost(request, arms.routed(), additions),
    mostTokens: (request) => mostTokens(request, arms.routed(), additions),
    mostMs: ({ allow }) => deadlineOf(allow, config.limits),
  });
}

/** Those that are open are answered; new connections are refused meanwhile. */
async function drain(
  { server }: ReturnType<typeof openServer>,
  connectionLimit: ConnectionLimit,
  drainMs: number,
): Promise<void> {
  server.close();
  const end = performance.now() + drainMs;
  while (connectionLimit.open() > 0 && performance.now() < end) await sleep(pollMs);
}
