// Asks as any client of the topics would: produces the request with the gateway's own reply
// partition and waits for the one final response. Holds nothing but what is open. A repeat of an id
// that is open here waits along with it; any other is plan's to answer (operators/deduplicate).
import { requestHash } from "../algorithms/text/canonical.ts";
import { errorOf } from "../connections/errors.ts";
import { requestKey } from "../algorithms/identity/identity.ts";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { Span } from "../connections/tracing/port.ts";
import type { Codec } from "../connections/registry/port.ts";
import type { Topic } from "../schemas/records.ts";
import type { Delta, Request, Response } from "../schemas/types.ts";
import type { CancelPublisher } from "./cancel.ts";
import { ApiError } from "./errors.ts";
import type { ConnectionLimit } from "./connection-limit.ts";
import type { Send } from "./send.ts";
import { sendTraced } from "./tracing.ts";
import type { Waiting } from "./waiting.ts";

export interface AskDependencies {
  waiting: Waiting;
  connectionLimit: ConnectionLimit;
  /** The reply partition for the next request; undefined: none yet. */
  replyPartition: () => number | undefined;
  send: Send<Topic<"requests">>;
  codec: Pick<Codec, "encode">;
  topic: Topic<"requests">;
  limits: { deadlineMs: number; maxDeadlineMs: number };
  /** Takes back a request that no client waits for any more; absent: it goes on to its end. */
  cancel?: Pick<CancelPublisher, "gone"> | undefined;
  clock: () => number;
}

export interface AskOptions {
  /** Aborted when the client has gone: its place is free at once. */
  signal: AbortSignal;
  /** Given for a request that asks for pieces of its answer. */
  onDelta?: ((delta: Delta) => void) | undefined;
  /** Its client may come back for the answer: it is not taken back when the client goes. */
  keep?: boolean;
  /** What the request belongs to in its trace; absent: nothing is traced. */
  span?: Span | undefined;
}

/** Rejects with ApiError, or with the signal's reason. */
export type Ask = (request: Request & { id: string }, options: AskOptions) => Promise<Response>;

/** For the stages to refuse what is late themselves. */
const graceMs = 10_000;

interface Open {
  hash: string;
  partition: number;
  /** How often it is waited for here. */
  clients: number;
  /** Settles when the brokers have it. */
  taken: Promise<void>;
}

export function createAsk(dependencies: AskDependencies): Ask {
  const { waiting, connectionLimit, replyPartition, send, codec, topic, limits, cancel, clock } = dependencies;
  const open = new Map<string, Open>();

  const produce = (request: Request & { id: string }, partition: number, span?: Span): Promise<void> => {
    const record = { ...request, replyPartition: partition, createdAt: clock() };
    const message: OutgoingMessage<Topic<"requests">> = {
      topic,
      key: request.id,
      value: codec.encode("requests", record),
    };
    return span === undefined ? send(message) : sendTraced(message, request, { send, span });
  };
  const begin = (request: Request & { id: string }, key: string, span?: Span): Open => {
    const partition = replyPartition();
    if (partition === undefined) throw notReady();
    const one: Open = { hash: requestHash(request), partition, clients: 0, taken: produce(request, partition, span) };
    open.set(key, one);
    return one;
  };

  return async function ask(request, { signal, onDelta, keep = false, span }) {
    const giveBack = connectionLimit.take(request.tenant);
    try {
      signal.throwIfAborted();
      const key = requestKey(request.tenant, request.id);
      const known = open.get(key);
      if (known !== undefined && known.hash !== requestHash(request)) throw reused();
      const one = known ?? begin(request, key, span);
      one.clients++;
      try {
        return await answerTo(request, one, signal, onDelta);
      } finally {
        if (--one.clients === 0) {
          open.delete(key);
          if (signal.aborted && !keep) takeBack(request, one);
        }
      }
    } finally {
      giveBack();
    }
  };

  /** Once the brokers have it: before that there is nothing to take back. */
  function takeBack({ id, tenant }: Request & { id: string }, { taken }: Open): void {
    taken.then(
      () => cancel?.gone({ requestId: id, tenant }),
      () => undefined,
    );
  }

  function answerTo(
    { id, tenant, allow }: Request & { id: string },
    one: Open,
    signal: AbortSignal,
    onDelta: AskOptions["onDelta"],
  ): Promise<Response> {
    const deadlineMs = deadlineOf(allow, limits);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", gone);
        remove();
        settle();
      };
      const gone = (): void => end(() => reject(signal.reason as Error));
      const timer = setTimeout(() => end(() => reject(unanswered(deadlineMs))), deadlineMs + graceMs);
      const remove = waiting.add(one.partition, id, {
        onResponse(response) {
          // Another tenant may use the same id; its answer is none of ours.
          if (response.tenant === tenant) end(() => resolve(response));
        },
        onDelta(delta) {
          if (delta.tenant === tenant) onDelta?.(delta);
        },
      });
      signal.addEventListener("abort", gone, { once: true });
      one.taken.catch((error: unknown) => end(() => reject(errorOf(error))));
    });
  }
}

/** Milliseconds from the request on. */
export const deadlineOf = (
  { deadlineMs }: Pick<Request["allow"], "deadlineMs">,
  limits: AskDependencies["limits"],
): number => Math.min(deadlineMs ?? limits.deadlineMs, limits.maxDeadlineMs);

const notReady = (): ApiError =>
  new ApiError({
    ...{ status: 503, code: "not_ready", retryAfter: 1 },
    message: "The gateway has no partition to be answered on yet: try again.",
  });
const reused = (): ApiError =>
  new ApiError({
    ...{ status: 422, code: "id_reused" },
    message: "This Idempotency-Key was used for another request: give every request a key of its own.",
  });
const unanswered = (ms: number): ApiError =>
  new ApiError({
    ...{ status: 504, code: "no_response" },
    message: `No response came within ${ms} ms: see that the stages run (precedent up).`,
  });
