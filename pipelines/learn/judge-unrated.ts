// Judges unrated answers one after the other within the spend limit while arms are idle. Feedback
// is published before its row, so a kill repeats the same feedback. Without an answer of the judge
// the pass fails and is tried again.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Judged } from "../../operators/judge/judge-unrated.ts";
import { isUnrated, type JudgingAgenda, type Unrated } from "../../operators/judge/unrated.ts";
import type { JudgeMetrics } from "../../operators/judge/metrics.ts";
import type { Feedback } from "../../schemas/types.ts";
import type { OffPeak } from "../../state/off-peak.ts";
import { requestKey } from "../../algorithms/identity/identity.ts";

export interface JudgeUnratedPass {
  clickhouse: Pick<ClickHouse, "query" | "insert">;
  gate: Pick<OffPeak, "pass">;
  judge: (item: Unrated, signal: AbortSignal) => Promise<Judged>;
  /** Resolves when the broker has it. */
  publish: (feedback: Feedback) => Promise<void>;
  spendLimit?: number | undefined;
  metrics: JudgeMetrics;
  signal: AbortSignal;
}

/** Failures in a row, without a single answer, after which the judge is taken to be away. */
const mostFailures = 3;

/** Resolves to how many were judged; rejects when the judge is away. */
export function createJudgeAll(options: JudgeUnratedPass) {
  const { clickhouse, gate, judge, publish, spendLimit = Infinity, metrics, signal } = options;
  /** Without an answer the last time: others go first, so that none can hold all of them up. */
  let unanswered = new Set<string>();
  const keyOf = ({ tenant, requestId }: Unrated): string => requestKey(tenant, requestId);
  const record = ({ judgement }: Judged): Promise<unknown> => clickhouse.insert("judgements", [judgement]);

  return async function judgeAll({ items, spent }: JudgingAgenda): Promise<number> {
    let cost = spent.cost;
    let done = 0;
    const failed = new Map<string, Judged>();
    const ordered = [
      ...items.filter((item) => !unanswered.has(keyOf(item))),
      ...items.filter((item) => unanswered.has(keyOf(item))),
    ];
    for (const item of ordered) {
      if (cost >= spendLimit) break;
      await gate.pass(signal);
      if (!(await isUnrated(clickhouse, item))) continue;
      const judged = await judge(item, signal);
      cost += judged.judgement.cost;
      if (judged.unanswered) {
        failed.set(keyOf(item), judged);
        if (done === 0 && failed.size >= mostFailures) break;
        continue;
      }
      if (judged.feedback !== null) await publish(judged.feedback);
      await record(judged);
      done++;
      metrics.judged(judged.feedback === null ? "unread" : "judged", judged.judgement.cost);
    }
    unanswered = new Set(failed.keys());
    if (done === 0 && failed.size > 0)
      throw new Error("the judge, or the arm that gives other answers, gave no answer: nothing was judged");
    // Others were answered: it is these that can't be judged.
    for (const judged of failed.values()) {
      await record(judged);
      metrics.judged("unanswered", judged.judgement.cost);
    }
    unanswered.clear();
    return done;
  };
}
