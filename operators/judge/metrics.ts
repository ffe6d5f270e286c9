// Unrated answers that an arm compared (docs/learning.md, The automatic judge).
import { gaugesOf, oncePerRegistry, countersOf } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

export interface JudgeMetrics {
  judged(result: "judged" | "unread" | "unanswered", cost: number): void;
  waits(now: boolean): void;
  due(count: number): void;
}

export const createJudgeMetrics = oncePerRegistry((registry: MetricsRegistry): JudgeMetrics => {
  const gauge = gaugesOf(registry);
  const counter = countersOf(registry);
  const answers = counter(
    "precedent_judgements_total",
    "Unrated answers given to the automatic judge: judged, unread (no verdict could be read), unanswered.",
    ["result"],
  );
  const spent = counter(
    "precedent_judgement_cost_total",
    "What the automatic judge and the other answers made for it cost.",
  );
  const waiting = gauge("precedent_judge_waiting", "1: the automatic judge waits for a lower load.");
  const due = gauge("precedent_judge_due", "Answers that the automatic judge has room for in its spend limit.");
  return {
    judged(result, cost) {
      answers.inc({ result });
      if (cost > 0) spent.inc(cost);
    },
    waits: (now) => waiting.set(Number(now)),
    due: (count) => due.set(count),
  };
});
