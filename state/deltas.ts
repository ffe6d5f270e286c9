// Publishes pieces of answers (topic deltas, and tenants' copies), those of a moment as one record
// a request. Best effort: while the brokers take nothing they are dropped.
import type { Logger } from "pino";
import type { OutgoingMessage } from "../connections/kafka/port.ts";
import type { DeltaSink, DeltaTarget } from "./delta-port.ts";
import type { Topic, TopicName } from "../schemas/records.ts";
import type { BlockPiece, CallPiece, Delta, ThoughtPiece } from "../schemas/types.ts";
import { followPartitionCount } from "./partition-count.ts";
import type { SessionOf } from "./session.ts";
import { lazyProducer } from "../runtime/send-once.ts";

export interface CoalescedOptions {
  /** One send at a time. */
  send: (deltas: readonly (Delta & { partition: number })[]) => Promise<void>;
  clock: () => number;
  /** Between two sends; the first piece after a pause goes at once. */
  everyMs?: number;
  /** Characters of a request that may wait; beyond them its attempt is given up. */
  mostWaiting?: number;
}

interface OpenAnswer extends DeltaTarget {
  attempt: number;
  index: number;
  text: string;
  /** By their index. */
  calls: Map<number, CallPiece>;
  blocks: Map<number, BlockPiece>;
  thoughts: ThoughtPiece | null;
  length: number;
  lost: boolean;
}

const empty = () => ({
  ...{ text: "", calls: new Map<number, CallPiece>(), blocks: new Map<number, BlockPiece>(), length: 0 },
  thoughts: null as ThoughtPiece | null,
});

/** Gathers pieces over everyMs, and sends them while no other send is under way. */
export function coalesce({ send, clock, everyMs = 25, mostWaiting = 65_536 }: CoalescedOptions) {
  const waiting = new Set<OpenAnswer>();
  let sending = false;
  let unschedule: (() => void) | undefined;
  let sentAt = -Infinity;

  const flush = (): void => {
    unschedule = undefined;
    if (sending || waiting.size === 0) return;
    const createdAt = clock();
    const deltas = [...waiting].map(({ requestId, tenant, partition, attempt, index, text, ...one }) => ({
      ...{ requestId, tenant, partition, attempt, index, text, createdAt },
      ...{ calls: [...one.calls.values()], blocks: [...one.blocks.values()], thoughts: one.thoughts },
    }));
    for (const one of waiting) Object.assign(one, empty(), { index: one.index + 1 });
    waiting.clear();
    sending = true;
    sentAt = performance.now();
    send(deltas)
      // The gap is seen by its index.
      .catch(() => undefined)
      .finally(() => {
        sending = false;
        schedule();
      });
  };
  const schedule = (): void => {
    if (sending || unschedule !== undefined || waiting.size === 0) return;
    const pause = sentAt + everyMs - performance.now();
    if (pause > 0) {
      const timer = setTimeout(flush, pause);
      unschedule = () => clearTimeout(timer);
      return;
    }
    // Before anything more is read, whatever comes behind it: a timer would let an answer that is
    // quick end first, and its reader wait for the response.
    const soon = setImmediate(flush);
    unschedule = () => clearImmediate(soon);
  };

  return {
    open(target: DeltaTarget): DeltaSink {
      const one: OpenAnswer = { ...target, attempt: 0, index: 0, ...empty(), lost: false };
      return {
        text(text, attempt, calls = [], blocks = [], thoughts) {
          if (attempt !== one.attempt) Object.assign(one, { attempt, index: 0, ...empty(), lost: false });
          if (one.lost || (text === "" && calls.length + blocks.length === 0 && thoughts === undefined)) return;
          one.text += text;
          one.length += text.length;
          for (const piece of calls) {
            const before = one.calls.get(piece.index);
            if (before === undefined) one.calls.set(piece.index, { ...piece });
            else before.arguments += piece.arguments;
            one.length += (piece.id?.length ?? 0) + (piece.name?.length ?? 0) + piece.arguments.length;
          }
          for (const piece of blocks) {
            const before = one.blocks.get(piece.index);
            if (before === undefined) one.blocks.set(piece.index, { ...piece });
            else before.text += piece.text;
            one.length += (piece.head?.length ?? 0) + piece.text.length;
          }
          if (thoughts !== undefined) {
            one.thoughts = { ...thoughts, text: (one.thoughts?.text ?? "") + thoughts.text };
            one.length += thoughts.text.length;
          }
          one.lost = one.length > mostWaiting;
          if (one.lost) waiting.delete(one);
          else waiting.add(one);
          schedule();
        },
        end: () => void waiting.delete(one),
      };
    },
    stop(): void {
      unschedule?.();
      waiting.clear();
    },
  };
}

const nobody: DeltaSink = { text: () => undefined, end: () => undefined };

type Pieces = Extract<TopicName, "deltas" | "tenant-deltas">;
export type DeltasSession = Pick<SessionOf<{ outputs: [Pieces] }>, "kafka" | "codec" | "topic" | "tenants">;

/** How often the partitions of a tenant's topic are counted: there may be a thousand of them. */
const countCopiesEveryMs = 60_000;

export async function publishDeltas(session: DeltasSession, log: Logger) {
  // Copies have a producer of their own: they delay no stream of a gateway.
  const [originals, copies] = [lazyProducer(session.kafka), lazyProducer(session.kafka)];
  const all = await openLane(session, { name: "deltas", producer: originals, log });
  const ofTenants = new Map<string, Lane>();
  const opening = new Map<string, Promise<void>>();
  const openCopy = async (owner: string): Promise<void> => {
    const more = { owner, everyMs: countCopiesEveryMs };
    ofTenants.set(owner, await openLane(session, { name: "tenant-deltas", producer: copies, log, ...more }));
  };
  await Promise.all(session.tenants.streaming().map(openCopy));
  /** Opens the output of a tenant that came to it since: its first pieces are lost meanwhile. */
  const openLater = (owner: string): void => {
    if (opening.has(owner)) return;
    const opened = openCopy(owner)
      .catch((error: unknown) => log.debug({ err: error, tenant: owner }, "pieces are not copied yet"))
      .finally(() => opening.delete(owner));
    opening.set(owner, opened);
  };
  return {
    open(target: DeltaTarget): DeltaSink {
      const sink = all.open(target);
      if (!session.tenants.isStreaming(target.tenant)) return sink;
      const lane = ofTenants.get(target.tenant);
      if (lane === undefined) openLater(target.tenant);
      const copy = lane?.open(target);
      return copy === undefined ? sink : both(sink, copy);
    },
    async stop(): Promise<void> {
      await Promise.all(opening.values());
      for (const lane of [all, ...ofTenants.values()]) lane.stop();
      await Promise.all([originals.close(), copies.close()]);
    },
  };
}

type Lane = Awaited<ReturnType<typeof openLane>>;

interface LaneOptions {
  name: Pieces;
  owner?: string;
  producer: Pick<ReturnType<DeltasSession["kafka"]["plainProducer"]>, "send">;
  everyMs?: number;
  log: Logger;
}

/** The pieces of one topic: one that takes none costs the others nothing. */
async function openLane({ kafka, codec, topic }: DeltasSession, { name, owner, producer, log, ...more }: LaneOptions) {
  const full = topic(name, owner);
  const partitions = await followPartitionCount(kafka, { topic: full, log, ...more });
  const pieces = coalesce({
    clock: Date.now,
    async send(deltas) {
      const messages = deltas.map(({ partition, ...delta }): OutgoingMessage<Topic<Pieces>> => ({
        ...{ topic: full, key: delta.requestId, partition, value: codec.encode(name, delta) },
      }));
      await producer
        .send(messages)
        .catch((error: unknown) => log.debug({ err: error, topic: full }, "pieces are lost"));
    },
  });
  return {
    // Where it has fewer partitions than responses, readers wait for the response.
    open: (target: DeltaTarget) => (target.partition < partitions.now() ? pieces.open(target) : nobody),
    stop(): void {
      pieces.stop();
      partitions.stop();
    },
  };
}

const both = (one: DeltaSink, other: DeltaSink): DeltaSink => ({
  text(...piece) {
    one.text(...piece);
    other.text(...piece);
  },
  end() {
    one.end();
    other.end();
  },
});
