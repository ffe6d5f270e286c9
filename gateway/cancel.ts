// Cancels requests: publishes one cancel record for a request whose client disconnects or cancels
// it. The process that calls its arm aborts the call (state/cancels.ts). Best effort: while the
// brokers are away, or too many cancels are in flight, the call runs to its end; nothing else
// changes.
import type { Logger } from "pino";
import type { Codec } from "../connections/registry/port.ts";
import type { Topic } from "../schemas/records.ts";
import type { Send } from "./send.ts";

export interface CancelDependencies {
  send: Send<Topic<"cancels">>;
  codec: Pick<Codec, "encode">;
  topic: Topic<"cancels">;
  log: Pick<Logger, "debug">;
  clock: () => number;
}

export interface Taken {
  requestId: string;
  tenant: string;
}

export interface CancelPublisher {
  /** For a client that has gone: no client waits for it. */
  gone(request: Taken): void;
  /** Rejects with ApiError while the brokers do not take it. */
  ask(request: Taken): Promise<void>;
  /** The gateway ends: its connections close for no wish of their clients. */
  stop(): void;
}

const mostOnTheirWay = 4_096;

export function createCancel({ send, codec, topic, log, clock }: CancelDependencies): CancelPublisher {
  let onTheirWay = 0;
  let stopped = false;

  const ask = ({ requestId, tenant }: Taken): Promise<void> =>
    send({ topic, key: requestId, value: codec.encode("cancels", { requestId, tenant, createdAt: clock() }) });
  return {
    ask,
    gone(request) {
      if (stopped || onTheirWay >= mostOnTheirWay) return;
      onTheirWay++;
      ask(request)
        .catch((error: unknown) => log.debug({ err: error, ...request }, "a request is not taken back"))
        .finally(() => onTheirWay--);
    },
    stop() {
      stopped = true;
    },
  };
}
