// The work on one record of a pipeline: decode, run the operators, encode what they emit. It always ends in outputs: a record
// that is undecodable or breaks an operator goes to dead-letters and its reader gets a final answer; a failing dependency is
// waited for until the deadline. Only a lost partition ends it without outputs.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { messageOf } from "../algorithms/errors.ts";
import { backoff } from "../algorithms/backoff.ts";
import { arrivalOf } from "../algorithms/identity.ts";
import type { OutgoingMessage, RawRecord } from "../connections/kafka/port.ts";
import type { Codec, Decoded } from "../connections/registry/port.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import { deadLetterRecord, type Reason } from "./dead-letter.ts";
import { whole, type StageMetrics } from "./metrics.ts";
import { decodeWithRetries } from "./decode.ts";
import type { BoundPipeline, Emitting, Problem, Retry } from "./pipeline.ts";
import type { Process } from "./stage-options.ts";
import {
  refuse,
  type Emit,
  type Outcome,
  type Place,
  type Position,
  type Received,
  type Refuse,
  type StepContext,
} from "./step.ts";

export interface ProcessorOptions<N extends TopicName> {
  pipeline: BoundPipeline<N>;
  codec: Codec;
  /** Full topic name of an output. */
  topicOf: (output: TopicName, arm?: string) => string;
  now: () => number;
  metrics: StageMetrics;
  log: Logger;
}

export interface Processor {
  process: Process;
  /** Outputs in place of those that the broker refuses for good; again: those that stood in for them were refused, too. */
  rejected: (record: RawRecord, position: Position, cause: unknown, again: boolean) => Promise<OutgoingMessage[]>;
}

/** The partition is somebody else's: nobody wants the outputs. */
export class Abandoned extends Error {
  override name = "Abandoned";
}

const retryMs = { first: 50, limit: 5_000 };
/** An operator that ignores its signal is left behind this long after the deadline. */
const graceMs = 1_000;

export function createProcessor<N extends TopicName>(options: ProcessorOptions<N>): Processor {
  const { pipeline, codec, topicOf, now, metrics, log } = options;
  const { contract, description } = pipeline;
  const stage = description.name;

  const encode = (emit: Emit): OutgoingMessage => {
    metrics.sent(emit.arm === undefined ? emit.output : `${emit.output}.${emit.arm}`, 1);
    return {
      topic: topicOf(emit.output, emit.arm),
      key: emit.key,
      value: codec.encode(emit.output, emit.record),
      ...(emit.partition === undefined ? {} : { partition: emit.partition }),
    };
  };

  const deadLetter = (record: RawRecord, position: Position, why: Omit<Reason, "stage">): OutgoingMessage => {
    metrics.dropped(why.code);
    log.warn({ ...position, code: why.code, reason: why.reason }, "dead letter");
    const letter = deadLetterRecord(record, position, { stage, ...why }, now());
    return { topic: topicOf("dead-letters"), key: record.key, value: codec.encode("dead-letters", letter) };
  };

  const decode = async (record: RawRecord, signal: AbortSignal): Promise<Decoded<RecordOf[N]>> => {
    if (record.value === null) return { ok: false, code: "undecodable", reason: "the record has no value" };
    const onWaiting = (cause: Error): void => log.warn({ err: cause }, "the registry is away: waiting");
    return decodeWithRetries(codec, description.sources[0], record.value, {
      signal,
      onWaiting,
      firstMs: retryMs.first,
    });
  };

  const receive = (
    value: RecordOf[N],
    raw: RawRecord,
    position: Position,
    receivedAt: number,
  ): Received<RecordOf[N]> => {
    const timestamp = Math.min(arrivalOf(raw, receivedAt, contract.toleranceMs), receivedAt);
    return { record: value, position, timestamp, receivedAt };
  };

  const answer = (received: Received<RecordOf[N]>, problem: Problem): OutgoingMessage[] =>
    contract.answer(received, problem).map(encode);

  const process: Process = async (record, position, lost, place) => {
    try {
      return await answerTo(record, position, lost, place);
    } catch (error) {
      if (lost.aborted || error instanceof Abandoned) throw new Abandoned("the partition was lost");
      // Not even an answer could be made. An unfinished record would hold its partition for ever.
      log.error({ err: error, ...position }, "a record can't be handled: this is a bug");
      return [deadLetter(record, position, { code: "internal_error", reason: reasonOf(error) })];
    }
  };

  const answerTo: Process = async (record, position, lost, place) => {
    const began = performance.now();
    const receivedAt = now();
    const decoded = await decode(record, lost);
    if (!decoded.ok) return [deadLetter(record, position, { code: decoded.code, reason: decoded.reason })];
    const received = receive(decoded.value, record, position, receivedAt);
    const deadline = contract.deadline(received);
    const limit = limitOf(lost, deadline - receivedAt);
    const { signal } = limit;
    let named: Logger | undefined;
    const context: StepContext = {
      signal,
      deadline,
      timings: [],
      // Few records have anything to say, and a logger of its own is expensive.
      get log() {
        return (named ??= log.child({ requestId: contract.id(received) }));
      },
    };
    try {
      const outcome = await Promise.race([
        pipeline.run(received, context, retrying(signal, lost, place), metrics.observe),
        limit.over,
      ]);
      if (lost.aborted) throw new Abandoned("the partition was lost");
      return conclude(outcome, received);
    } catch (error) {
      if (lost.aborted || error instanceof Abandoned) throw new Abandoned("the partition was lost");
      // A driver that heeds the signal throws its reason, or an error of its own that is named for it.
      if (signal.aborted && (error === signal.reason || (error instanceof Error && error.name === "AbortError")))
        return conclude(deadlineExceeded(), received);
      context.log.error({ err: error, ...position }, "an operator threw: this is a bug");
      return [
        deadLetter(record, position, { code: "internal_error", reason: reasonOf(error) }),
        ...answer(received, {
          status: "failed",
          code: "internal_error",
          message: "Precedent failed on this request; the record is in dead-letters.",
        }),
      ];
    } finally {
      limit.end();
      metrics.observe(whole, performance.now() - began);
    }
  };

  function conclude(outcome: Outcome<Emitting, TopicName>, received: Received<RecordOf[N]>): OutgoingMessage[] {
    switch (outcome.kind) {
      case "ok":
        return outcome.value.emits.map(encode);
      case "finish":
        return outcome.emits.map(encode);
      case "refuse":
        metrics.dropped(outcome.code);
        return answer(received, {
          ...{ status: "refused", code: outcome.code, message: outcome.message },
          ...(outcome.repeat === true ? { repeat: true } : {}),
        });
      case "retryLater":
        throw outcome.cause; // retrying() lets none through
    }
  }

  return {
    process,
    async rejected(record, position, cause, again) {
      const reason = `the broker refuses the outputs: ${messageOf(cause)}`;
      const letter = again
        ? deadLetter({ ...record, value: null, headers: {} }, position, {
            code: "output_too_large",
            reason: `${reason}; the record's ${record.value?.length ?? 0} bytes are too many for a dead letter, it stays in its topic`,
          })
        : deadLetter(record, position, { code: "output_too_large", reason });
      const decoded = await decode(record, new AbortController().signal);
      if (!decoded.ok) return [letter];
      const received = receive(decoded.value, record, position, now());
      return [letter, ...answer(received, { status: "failed", code: "output_too_large", message: reason })];
    },
  };
}

/** Repeats a step while its dependency fails, until the deadline; then the request is refused. */
function retrying(signal: AbortSignal, lost: AbortSignal, place?: Place): Retry {
  return async (attempt) => {
    let left = false;
    const waits = backoff(retryMs);
    for (;;) {
      const outcome = await attempt();
      if (lost.aborted) throw new Abandoned("the partition was lost");
      if (outcome.kind !== "retryLater") {
        // What ends here needs none; what goes on does.
        if (left && outcome.kind === "ok") await place?.take();
        return outcome;
      }
      const { cause, elseRefuse } = outcome;
      if (signal.aborted) return deadlineExceeded(cause, elseRefuse);
      if (elseRefuse !== undefined && !left && place !== undefined) {
        left = place.leave();
        if (!left) return elseRefuse;
      }
      await pause(waits.next(), signal).catch(() => undefined);
    }
  };
}

const deadlineExceeded = (cause?: Error, instead?: Refuse): Refuse => ({
  ...refuse(
    "deadline_exceeded",
    `nobody could answer before the deadline${cause === undefined ? "" : `: ${cause.message}`}`,
  ),
  ...(instead?.repeat === true ? { repeat: true } : {}),
});

/** What ends the work on a record before its time. */
interface Limit {
  /** Aborted by the deadline, or with the partition. */
  signal: AbortSignal;
  /** Ends the race when an operator doesn't heed the signal: at once when the partition is lost, a grace after the deadline. */
  over: Promise<Outcome<never>>;
  /** The work is done. */
  end(): void;
}

/** One signal and one listener a record: AbortSignal.any and its kind cost more than most operators. */
function limitOf(lost: AbortSignal, withinMs: number): Limit {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let abandon = (): void => undefined;
  const over = new Promise<Outcome<never>>((resolve, reject) => {
    abandon = () => {
      controller.abort(lost.reason);
      reject(new Abandoned("the partition was lost"));
    };
    timer = setTimeout(() => {
      controller.abort(new Error("the deadline passed"));
      timer = setTimeout(() => resolve(deadlineExceeded()), graceMs).unref();
    }, clampTimeout(withinMs));
  });
  lost.addEventListener("abort", abandon, { once: true });
  if (lost.aborted) abandon();
  return {
    signal: controller.signal,
    over,
    end() {
      clearTimeout(timer);
      lost.removeEventListener("abort", abandon);
    },
  };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw new Abandoned("the partition was lost or the deadline passed");
  }
}

/** setTimeout takes at most 2^31 - 1 ms, and anything past becomes 1. */
const clampTimeout = (ms: number): number => Math.min(Math.max(ms, 0), 2_147_483_647);
