// What a request needs from its acceptance to its response: the producer, the replies of this
// gateway's partitions, what is spent meanwhile, cancels, and the bound on open connections.
import type { Logger } from "pino";
import { createAsk } from "../../gateway/ask.ts";
import { createCancel } from "../../gateway/cancel.ts";
import { createConnectionLimit } from "../../gateway/connection-limit.ts";
import { readAccountCosts } from "../../gateway/keys/account-costs.ts";
import { createSpending } from "../../gateway/keys/spending.ts";
import { createReplies } from "../../gateway/replies.ts";
import { createSend } from "../../gateway/send.ts";
import { createWaiting } from "../../gateway/waiting.ts";
import { groupName } from "../../runtime/running-stage.ts";
import type { SessionOf } from "../../state/session.ts";
import { gateway } from "./pipeline.ts";

export async function openAsking(
  { config, kafka, codec, clickhouse, topic }: SessionOf<typeof gateway>,
  { instance, log, clock }: { instance: string; log: Logger; clock: () => number },
) {
  const { prefix, sessionTimeoutMs } = config.kafka;
  const waiting = createWaiting();
  const connectionLimit = createConnectionLimit(config.gateway.maxOpen);
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
  const send = createSend(producer, config.gateway.acceptMs);
  const cancel = createCancel({ send, codec, topic: topic("cancels"), log, clock });
  const ask = createAsk({
    ...{ waiting, connectionLimit, send, codec, topic: topic("requests"), limits: config.limits, cancel, clock },
    replyPartition: replies.next,
  });
  return { producer, send, ask, cancel, replies, spending, connectionLimit };
}
