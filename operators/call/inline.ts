// End of plan: makes decision and work. An inline arm is called here. Needs pair before it.
// Delivery as of generate: the call may repeat after a crash, outputs are published once. It waits
// in a bounded pool of its arm, without a slot.
import {
  elsewhere,
  ok,
  type Elsewhere,
  type Emit,
  type Finish,
  type Outcome,
  type Refuse,
  type Step,
  type StepContext,
} from "../../runtime/step.ts";
import { deferral } from "../../schemas/no-answer.ts";
import type { StepTiming, Work } from "../../schemas/types.ts";
import type { SelectedExample } from "../flow.ts";
import { replyPartition } from "../refusal.ts";
import { asRecord } from "../work-record.ts";
import { createCall, type CallDependencies } from "./call.ts";
import { decide, emitsOf, type Decided, type Found } from "./decision.ts";
import { armOf } from "./fallback.ts";
import { refusedWork } from "./response.ts";

/** What it reads of a request, what it adds, and where what it ends in goes. */
interface Needs extends Found {
  /** Chosen for each arm; one that takes over is shown its own. */
  examplesByArm?: ReadonlyMap<string, SelectedExample[]>;
}
interface Adds {
  emits: Emit<"work" | "decisions">[];
}
type Outputs = "decisions" | "responses" | "work" | "response-cache";

export interface CallInlineDependencies extends Omit<CallDependencies, "arm"> {
  /** The arm, if plan calls it itself. */
  inline: (arm: string) => InlineArm | undefined;
  /** Whether the arm answers lines of batches alone, later; absent: none does. */
  isBatch?: ((arm: string) => boolean) | undefined;
}
type InlineArm = CallDependencies["arm"] & { refused(code: string): void };

export function createCallInline({
  inline,
  isBatch = () => false,
  deltas,
  cancels,
  fallback,
  toCacheEntry,
  redact,
  clock,
  partitions = () => Infinity,
}: CallInlineDependencies): Step<Needs, Adds, Outputs> {
  return function callInline<T extends Needs>(paired: T, context: StepContext) {
    const { examplesByArm } = paired;
    const decided = decide(paired, context.timings);

    const refused = (
      arm: InlineArm,
      work: Work,
      { code, message }: Pick<Refuse, "code" | "message">,
      timings: StepTiming[],
    ): Finish<Outputs> => {
      arm.refused(code);
      const { requestId } = work.decision;
      const record = refusedWork(work, requestId, { code, message }, clock());
      const to = replyPartition(work.request, partitions());
      return finishWith(decided, timings, [{ output: "responses", key: requestId, record, ...to }]);
    };

    /** In the arm's own pool, each arm that takes over included. */
    const callOf = (arm: InlineArm, work: Work, before: readonly StepTiming[]): Elsewhere<T & Adds, Outputs> =>
      elsewhere<T & Adds, Outputs>({
        pool: armOf(work),
        bytes: bytesOf(work),
        async go(): Promise<Outcome<T & Adds, Outputs>> {
          const began = performance.now();
          const call = createCall({ arm, deltas, cancels, fallback, toCacheEntry, redact, clock, partitions });
          // It arrives when it is planned: there is no hop.
          const taken = { record: work, timestamp: work.plannedAt, prompt: { pieces: work.pieces } };
          const outcome = await call({ ...taken, ...(examplesByArm && { examplesByArm }) }, context);
          const timings = [...before, { operator: "call", ms: performance.now() - began }];
          switch (outcome.kind) {
            case "ok": {
              // Plan calls for answers alone: alternative ones are generate's.
              const emits = outcome.value.emits.flatMap((emit) =>
                emit.output === "alternative-answers" ? [] : [emit],
              );
              const [next] = emits;
              const other = next?.output === "work" ? inline(armOf(next.record)) : undefined;
              return next?.output === "work" && other !== undefined
                ? callOf(other, next.record, timings)
                : finishWith(decided, timings, emits);
            }
            case "refuse":
              return refused(arm, work, outcome, timings);
            case "retryLater":
              return outcome;
            default:
              throw new Error(`call ended with ${outcome.kind}`);
          }
        },
        full: () =>
          refused(
            arm,
            work,
            {
              code: "too_many_waiting",
              message: `Too many requests wait for the arm "${armOf(work)}", which answers too slowly for them (limits.parked): send fewer at a time, or queue its work (dispatch: queued).`,
            },
            [...before],
          ),
      });

    const { arm: name } = decided.decision;
    const arm = inline(name);
    if (arm !== undefined) return callOf(arm, decided.work, context.timings);
    const { batchUntil } = decided.work.request;
    if (batchUntil === null || !isBatch(name)) return ok({ ...paired, emits: emitsOf(decided) });
    const deferred = { ...decided, work: { ...decided.work, notAfter: batchUntil } };
    const { requestId: key } = decided.decision;
    // A duplicate never stands in for the answer.
    const noted = { ...refusedWork(decided.work, key, deferral, clock()), duplicate: true };
    const to = replyPartition(paired.request, partitions());
    return { kind: "finish", emits: [...emitsOf(deferred), { output: "responses", key, record: noted, ...to }] };
  };
}

type Emits = readonly Emit<"responses" | "work" | "response-cache">[];

/** Or will be, by another arm: without an answer there is nothing to compare. */
const isAnswered = (emits: Emits): boolean =>
  emits.every(({ output, record }) => output !== "responses" || record.status === "ok");

/** The work for an alternative answer is committed with the first. */
function finishWith({ decision, alternative }: Decided, timings: StepTiming[], emits: Emits): Finish<Outputs> {
  const second = alternative !== null && isAnswered(emits) ? [alternative] : [];
  return {
    kind: "finish",
    emits: [
      {
        output: "decisions",
        key: decision.requestId,
        record: { ...decision, alternative: second.length > 0, timings },
      },
      // Where a queued arm takes over; a chain of inline ones needs the decision whole until here.
      ...emits.map((emit) => (emit.output === "work" ? { ...emit, record: asRecord(emit.record) } : emit)),
      ...second,
    ],
  };
}

/** Bytes of the prompt: with examples and documents, many times those of the request. */
const bytesOf = ({ pieces }: Work): number => pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
