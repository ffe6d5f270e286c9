// Calls the arm that was chosen, where it is one that plan calls itself (dispatch: inline), and
// ends with its decision and its response, or with the decision and the work for a queued arm that
// takes over; the work for all other arms passes through. Needs compose before it. Delivery as of
// generate: the call may be repeated after a crash, decision and response are published once, for
// the stage commits them with the request's position. The request waits without a place of the
// stage, in a pool of its arm, so that a slow arm holds nobody back; a request that its pool has no
// room for is refused.
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
import type { Decision, StepTiming, Work } from "../../schemas/types.ts";
import type { Composed, SelectedExample } from "../flow.ts";
import { replyPartition } from "../refusal.ts";
import { asRecord } from "../work-record.ts";
import { createCall, type CallDependencies } from "./call.ts";
import { armOf } from "./fallback.ts";
import { refusedWork } from "./response.ts";

/** What it reads of a request, and where what it ends in goes. */
interface Needs extends Pick<Composed, "work"> {
  /** Chosen for each arm; one that takes over is shown its own. */
  examplesByArm?: ReadonlyMap<string, SelectedExample[]>;
  /** Among them the work for an alternative answer (pair), which is committed with the first. */
  emits?: Composed["emits"];
}
type Outputs = "decisions" | "responses" | "work" | "answers";

export interface CallInlineDependencies extends Omit<CallDependencies, "arm"> {
  /** The arm of that name, if plan calls it itself; it is told of every refusal, with its code. */
  inline: (arm: string) => InlineArm | undefined;
}
type InlineArm = CallDependencies["arm"] & { refused(code: string): void };

export function createCallInline({
  inline,
  deltas,
  cancels,
  fallback,
  keep,
  redact,
  clock,
  partitions = () => Infinity,
}: CallInlineDependencies): Step<Needs, unknown, Outputs> {
  return function callInline<T extends Needs>(composed: T, context: StepContext) {
    const { examplesByArm, emits: planned = [] } = composed;
    const alternatives = planned.flatMap((emit) =>
      emit.output === "work" && emit.record.role === "alternative" ? [emit] : [],
    );

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
      return ended(work.decision, timings, [{ output: "responses", key: requestId, record, ...to }], []);
    };

    /** In the arm's own pool, each arm that takes over included. */
    const callOf = (arm: InlineArm, work: Work, before: readonly StepTiming[]): Elsewhere<T, Outputs> =>
      elsewhere<T, Outputs>({
        pool: armOf(work),
        bytes: bytesOf(work),
        async go(): Promise<Outcome<T, Outputs>> {
          const began = performance.now();
          const call = createCall({ arm, deltas, cancels, fallback, keep, redact, clock, partitions });
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
                : ended(work.decision, timings, emits, isAnswered(emits) ? alternatives : []);
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

    const arm = inline(armOf(composed.work));
    return arm === undefined ? ok(composed) : callOf(arm, composed.work, context.timings);
  };
}

type Ends = readonly Emit<"responses" | "work" | "answers">[];

/** Or will be, by another arm: without an answer there is nothing to compare. */
const isAnswered = (emits: Ends): boolean =>
  emits.every(({ output, record }) => output !== "responses" || record.status === "ok");

const ended = (
  decision: Decision,
  timings: StepTiming[],
  emits: Ends,
  alternatives: readonly Emit<"work">[],
): Finish<Outputs> => ({
  kind: "finish",
  emits: [
    {
      output: "decisions",
      key: decision.requestId,
      record: { ...decision, alternative: alternatives.length > 0, timings },
    },
    // Where a queued arm takes over; a chain of inline ones needs the decision whole until here.
    ...emits.map((emit) => (emit.output === "work" ? { ...emit, record: asRecord(emit.record) } : emit)),
    ...alternatives,
  ],
});

/** Of the prompt, which may be many times its request: examples and documents stand in it. */
const bytesOf = ({ pieces }: Work): number => pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
