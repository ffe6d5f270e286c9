// Work on one record: decode, operators, encode. It ends in outputs: undecodable records and bugs
// are dead-lettered, with a final answer where the client is known; dependencies are waited for
// until the deadline. A lost partition ends it.
import { messageOf } from "../connections/errors.ts";
import { arrivalOf } from "../algorithms/identity/identity.ts";
import { tenantIn } from "../algorithms/identity/names.ts";
import { rarely } from "../algorithms/queueing/rarely.ts";
import type { OutgoingMessage, RawRecord } from "../connections/kafka/port.ts";
import type { Decoded } from "../connections/registry/port.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import { whole } from "./metrics/port.ts";
import { decodeWithRetries } from "./decode.ts";
import type { Process } from "./stage-options.ts";
import { LazyAbort, type Cancellation } from "./lazy-abort.ts";
import { RecordContext } from "./record-context.ts";
import { limitOf } from "./record-limit.ts";
import { Abandoned, deadlineExceeded, retryMs, retrying } from "./retrying.ts";
import { createOutputs, type OutputsOptions } from "./outputs.ts";
import type { Emit, Position, Received, StepContext } from "./step.ts";
import type { RecordTrace } from "./tracing/port.ts";

export interface Processor {
  process: Process;
  /** Outputs instead of refused ones; again: stand-ins were refused, too. */
  rejected: (record: RawRecord, position: Position, cause: unknown, again: boolean) => Promise<OutgoingMessage[]>;
}

interface UnderWay {
  record: RawRecord;
  position: Position;
  lost: Cancellation;
  slot: Parameters<Process>[3];
  /** performance.now() before it was decoded. */
  began: number;
  trace: RecordTrace | undefined;
}

interface Undecoded<T> {
  code: string;
  reason: string;
  envelope?: T;
}

/** Waits between warnings about late records. */
const warnLateMs = { first: 1_000, limit: 600_000 };

export function createProcessor<N extends TopicName>(options: OutputsOptions<N>): Processor {
  const { pipeline, codec, now, inItsTime, metrics, tracing, log } = options;
  const { contract, description } = pipeline;
  const { deadLetter, answer, conclude, encode } = createOutputs(options);

  const mayWarn = rarely(warnLateMs, () => performance.now());
  const warnIfLate = (lateMs: number): void => {
    if (lateMs >= 0 && mayWarn())
      log.warn(
        { lateMs },
        "a record arrived after its deadline: this process is behind, or its clock is ahead of the broker's (precedent doctor compares them)",
      );
  };
  const onWaiting = (cause: Error): void => log.warn({ err: cause }, "the registry is away: waiting");
  const decode = ({ value }: RawRecord, lost: Cancellation): Decoded<RecordOf[N]> | Promise<Decoded<RecordOf[N]>> =>
    value === null
      ? { ok: false, code: "undecodable", reason: "the record has no value" }
      : decodeWithRetries(codec, description.sources[0], value, { signal: lost, onWaiting, firstMs: retryMs.first });

  const receive = (
    value: RecordOf[N],
    raw: RawRecord,
    position: Position,
    receivedAt: number,
  ): Received<RecordOf[N]> => {
    const timestamp = Math.min(arrivalOf(raw, receivedAt, contract.toleranceMs), receivedAt);
    return { record: value, position, timestamp, receivedAt };
  };

  /** The answer to a record that can't be read as a whole. */
  const refusal = (
    decoded: Undecoded<RecordOf[N]>,
    raw: RawRecord,
    position: Position,
    trace?: RecordTrace,
  ): OutgoingMessage[] => {
    if (decoded.envelope === undefined) return [];
    const received = receive(decoded.envelope, raw, position, now());
    const message = `Precedent can't read the request: ${decoded.reason}. The record is in dead-letters.`;
    return encode(answer(received, { status: "refused", code: decoded.code, message }), trace);
  };

  const ended = (emits: Emit[], { timings }: StepContext, trace: RecordTrace | undefined): OutgoingMessage[] => {
    const messages = encode(emits, trace);
    trace?.worked(emits, timings);
    return messages;
  };

  const process: Process = async (record, position, lost, slot) => {
    const trace = tracing?.begin(record, position);
    try {
      if (trace === undefined) return await answerTo(record, position, lost, slot);
      return await trace.during(() => answerTo(record, position, lost, slot, trace));
    } catch (error) {
      if (lost.aborted || error instanceof Abandoned) {
        trace?.abandoned();
        throw new Abandoned("the partition was lost");
      }
      // Not even an answer could be made. An unfinished record would hold its partition for ever.
      log.error({ err: error, ...position }, "a record can't be handled: this is a bug");
      trace?.deadLettered("internal_error");
      return [deadLetter(record, position, { code: "internal_error", reason: reasonOf(error) })];
    }
  };

  const answerTo = async (
    record: RawRecord,
    position: Position,
    lost: Cancellation,
    slot: UnderWay["slot"],
    trace?: RecordTrace,
  ): Promise<OutgoingMessage[]> => {
    const began = performance.now();
    const receivedAt = now();
    const { unreadable } = record;
    const decoded = unreadable === undefined ? await decode(record, lost) : { ok: false as const, ...unreadable };
    if (!decoded.ok) {
      const { code, reason, envelope }: Undecoded<RecordOf[N]> = decoded;
      trace?.deadLettered(code);
      return [
        deadLetter(record, position, { code, reason, tenant: tenantIn(envelope) }),
        ...refusal(decoded, record, position, trace),
      ];
    }
    const { value } = decoded;
    const work = async (at: number): Promise<OutgoingMessage[]> => {
      const received = receive(value, record, position, at);
      const outputs = await answerWithin(received, at, { record, position, lost, slot, began, trace });
      return [...outputs, ...always(received)];
    };
    return await (inItsTime === undefined ? work(receivedAt) : inItsTime(value, () => work(now())));
  };

  const always = (received: Received<RecordOf[N]>): OutgoingMessage[] => encode(contract.always?.(received) ?? []);

  const answerWithin = async (
    received: Received<RecordOf[N]>,
    receivedAt: number,
    { record, position, lost, slot, began, trace }: UnderWay,
  ): Promise<OutgoingMessage[]> => {
    const deadline = contract.deadline(received);
    warnIfLate(receivedAt - deadline);
    const limit = limitOf(lost, deadline - receivedAt);
    const { cancellation } = limit;
    const context = new RecordContext(cancellation, deadline, () => log.child({ requestId: contract.id(received) }));
    try {
      const outcome = await limit.outcome(() =>
        pipeline.run(received, context, retrying(cancellation, lost, slot), metrics.observe),
      );
      if (lost.aborted) throw new Abandoned("the partition was lost");
      if (outcome.kind === "deadLetter") {
        trace?.deadLettered(outcome.code);
        return [deadLetter(record, position, outcome)];
      }
      return ended(conclude(outcome, received), context, trace);
    } catch (error) {
      if (lost.aborted || error instanceof Abandoned) throw new Abandoned("the partition was lost");
      // A driver that heeds the signal throws its reason, or an error of its own that is named for
      // it.
      if (
        cancellation.aborted &&
        (error === cancellation.reason || (error instanceof Error && error.name === "AbortError"))
      )
        return ended(conclude(deadlineExceeded(), received), context, trace);
      context.log.error({ err: error, ...position }, "an operator threw: this is a bug");
      return [
        deadLetter(record, position, { code: "internal_error", reason: reasonOf(error) }),
        ...ended(
          answer(received, {
            status: "failed",
            code: "internal_error",
            message: "Precedent failed on this request; the record is in dead-letters.",
          }),
          context,
          trace,
        ),
      ];
    } finally {
      limit.end();
      metrics.observe(whole, performance.now() - began);
    }
  };

  return {
    process,
    async rejected(record, position, cause, again) {
      const reason = `the broker refuses the outputs: ${messageOf(cause)}`;
      const why = again ? `${reason}; none of its bytes either` : reason;
      const letter = deadLetter(record, position, { code: "output_too_large", reason: why }, again);
      if (record.unreadable !== undefined) return [letter];
      const decoded = await decode(record, new LazyAbort());
      if (!decoded.ok) return [letter, ...refusal(decoded, record, position)];
      const received = receive(decoded.value, record, position, now());
      const failed = encode(answer(received, { status: "failed", code: "output_too_large", message: reason }));
      return [letter, ...failed, ...always(received)];
    },
  };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
