// What an operator is: it adds what it found, or ends the record. It throws only for bugs.
import type { Logger } from "pino";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import type { StepTiming } from "../schemas/types.ts";
import type { Cancellation } from "./lazy-abort.ts";

export interface Position {
  topic: string;
  partition: number;
  offset: number;
}

export interface Received<T> {
  record: T;
  position: Position;
  /** When it came to the broker, never after receivedAt; ms since the epoch. */
  timestamp: number;
  /** When this process took it up, milliseconds since the epoch. */
  receivedAt: number;
}

/** A record for one of the outputs O, named as in the specification; never a topic or a client. */
export type Emit<O extends TopicName = TopicName> = {
  [N in O]: {
    output: N;
    key: string;
    record: RecordOf[N];
    /** The arm whose work topic is meant; only with output "work". */
    arm?: string;
    /** The tenant whose topic is meant, where each has its own. */
    tenant?: string;
    /** Explicit partition; by key when absent. */
    partition?: number;
  };
}[O];

export interface Ok<T> {
  kind: "ok";
  value: T;
}
/** Answered already: later steps do not run. */
export interface Finish<O extends TopicName = TopicName> {
  kind: "finish";
  emits: Emit<O>[];
}
/** The client gets a refusal with a stable code. */
export interface Refuse {
  kind: "refuse";
  code: string;
  message: string;
  /** Refuses a repeat: the response is marked so. */
  repeat?: boolean;
}
/** A dependency fails: the record waits and the step runs again, until its deadline. */
export interface RetryLater {
  kind: "retryLater";
  cause: Error;
  /** Its outcome when no more may wait for another record. */
  elseRefuse?: Refuse;
}

/** Goes to dead-letters whole, with a stable code, without a response. */
export interface DeadLetter {
  kind: "deadLetter";
  code: string;
  reason: string;
}

/** The pool of records that wait for another one: they don't count as under way. */
export const anotherRecord = "";
/** What a record waits for without a slot: the pool that bounds such waiting, what it holds. */
export interface Waiting {
  /** Its name; anotherRecord is that of records that wait for another one. */
  pool: string;
  /** In memory. */
  bytes: number;
}
/** Continues elsewhere (a model's answer): the record gives its slot back. */
export interface Elsewhere<T, O extends TopicName = TopicName> extends Waiting {
  kind: "elsewhere";
  /** Called without the slot; resolves to the step's outcome. */
  go(): Promise<Outcome<T, O>>;
  /** The outcome where no more may wait in its pool. */
  full(): Ending<T, O>;
}

/** A record's slot among those under way (slots.ts). */
export interface Slot {
  /** Gives its slot back while it waits; false: no more may wait so. */
  leave(waiting?: Waiting): boolean;
  /** Resolves when it has one again, in its turn. */
  take(): Promise<void>;
}
export type Ending<T, O extends TopicName = never> = Ok<T> | Finish<O> | Refuse | DeadLetter | RetryLater;
export type Outcome<T, O extends TopicName = never> = Ending<T, O> | Elsewhere<T, O>;

export const ok = <T>(value: T): Ok<T> => ({ kind: "ok", value });
export const finish = <E extends Emit>(...emits: E[]) => ({ kind: "finish" as const, emits });
export const refuse = (code: string, message: string): Refuse => ({ kind: "refuse", code, message });
export const deadLetter = (code: string, reason: string): DeadLetter => ({ kind: "deadLetter", code, reason });
export const retryLater = (cause: Error, elseRefuse?: Refuse): RetryLater => ({
  kind: "retryLater",
  cause,
  ...(elseRefuse === undefined ? {} : { elseRefuse }),
});
export const elsewhere = <T, O extends TopicName>(what: Omit<Elsewhere<T, O>, "kind">): Elsewhere<T, O> => ({
  kind: "elsewhere",
  ...what,
});

export interface StepContext {
  /** Aborted when the deadline passes, the partition is lost or the stage shuts down. */
  readonly signal: AbortSignal;
  /** The same for who only asks or listens: costs less. Absent: the signal says it. */
  readonly cancellation?: Cancellation;
  /** Carries the request's id and position. */
  log: Logger;
  /** Milliseconds since the epoch at which the result is no longer needed. */
  deadline: number;
  timings: StepTiming[];
}

/** Takes the fields it needs and adds others; the rest passes. O: outputs it may finish with. */
export interface Step<in Needs, out Adds = unknown, out O extends TopicName = never> {
  <T extends Needs>(input: T, context: StepContext): Outcome<T & Adds, O> | Promise<Outcome<T & Adds, O>>;
}
