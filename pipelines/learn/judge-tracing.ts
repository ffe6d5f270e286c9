// A comparison of the automatic judge as a trace of its own: the calls of the arms that it asks
// stand below it. It goes on from no request's trace, which ended long before.
import type { Tracing } from "../../connections/tracing/port.ts";
import type { Judged } from "../../operators/judge/judge-unrated.ts";
import type { Unrated } from "../../operators/judge/unrated.ts";

export type JudgeOne = (item: Unrated, signal: AbortSignal) => Promise<Judged>;

export function traceJudge(judge: JudgeOne, tracing: Tracing): JudgeOne {
  return async function traced(item, signal) {
    const { requestId, tenant, arm } = item;
    const facts = { stage: "learn", requestId, tenant, arm };
    const span = tracing.follow({}, { name: "judge", kind: "inside", facts });
    try {
      const judged = await span.during(() => judge(item, signal));
      span.set({ cost: judged.judgement.cost, outcome: judged.feedback === null ? "failed" : "ok" });
      span.end(judged.unanswered ? { error: "unanswered" } : {});
      return judged;
    } catch (error) {
      span.end({ error: signal.aborted ? "abandoned" : "internal_error" });
      throw error;
    }
  };
}
