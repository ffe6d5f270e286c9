// Calls the arm that was chosen, where it is one that plan calls itself (dispatch: inline), and
// ends with its decision and its response; the work for all other arms passes through. Needs
// compose before it. Delivery as of generate: the call may be repeated after a crash, decision and
// response are published once, for the stage commits them with the request's position. The request
// waits without a place of the stage, in a pool of its arm, so that a slow arm holds nobody back; a
// request that its pool has no room for is refused.
import {
  elsewhere,
  ok,
  type Emit,
  type Ending,
  type Finish,
  type Refuse,
  type Step,
  type StepContext,
} from "../../runtime/step.ts";
import type { Decision, StepTiming, Work } from "../../schemas/types.ts";
import type { Composed } from "../flow.ts";
import { replyPartition } from "../refusal.ts";
import { createCall, type CallDependencies } from "./call.ts";
import { refusedWork } from "./response.ts";

/** What it reads of a request, and where what it ends in goes. */
type Needs = Pick<Composed, "work">;
type Outputs = "decisions" | "responses";

export interface CallInlineDependencies extends Omit<CallDependencies, "arm"> {
  /** The arm of that name, if plan calls it itself; it is told of every refusal, with its code. */
  inline: (arm: string) => (CallDependencies["arm"] & { refused(code: string): void }) | undefined;
}

export function createCallInline({
  inline,
  deltas,
  clock,
  partitions = () => Infinity,
}: CallInlineDependencies): Step<Needs, unknown, Outputs> {
  return function callInline<T extends Needs>(composed: T, context: StepContext) {
    const { work } = composed;
    const { arm: name, requestId } = work.decision;
    const arm = inline(name);
    if (arm === undefined) return ok(composed);
    const call = createCall({ arm, deltas, clock, partitions });

    const refused = ({ code, message }: Pick<Refuse, "code" | "message">, timings: StepTiming[]): Finish<Outputs> => {
      arm.refused(code);
      const record = refusedWork(work, requestId, { code, message }, clock());
      const to = replyPartition(work.request, partitions());
      return ended(work.decision, timings, [{ output: "responses", key: requestId, record, ...to }]);
    };

    return elsewhere<T, Outputs>({
      pool: name,
      bytes: bytesOf(work),
      async go(): Promise<Ending<T, Outputs>> {
        const began = performance.now();
        // It arrives when it is planned: there is no hop.
        const taken = { record: work, timestamp: work.plannedAt, prompt: { pieces: work.pieces } };
        const outcome = await call(taken, context);
        const timings = [...context.timings, { operator: "call", ms: performance.now() - began }];
        switch (outcome.kind) {
          case "ok":
            return ended(work.decision, timings, outcome.value.emits);
          case "refuse":
            return refused(outcome, timings);
          case "retryLater":
            return outcome;
          default:
            throw new Error(`call ended with ${outcome.kind}`);
        }
      },
      full: () =>
        refused(
          {
            code: "too_many_waiting",
            message: `Too many requests wait for the arm "${name}", which answers too slowly for them (limits.parked): send fewer at a time, or queue its work (dispatch: queued).`,
          },
          [...context.timings],
        ),
    });
  };
}

const ended = (decision: Decision, timings: StepTiming[], responses: Emit<"responses">[]): Finish<Outputs> => ({
  kind: "finish",
  emits: [{ output: "decisions", key: decision.requestId, record: { ...decision, timings } }, ...responses],
});

/** Of the prompt, which may be many times its request: examples and documents stand in it. */
const bytesOf = ({ pieces }: Work): number => pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
