// Reads decisions page by page and computes what every target policy would have done. Memory is
// bounded: of a longer window a sample by hash of request ids is taken.
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import {
  feedbackRates,
  lengthClass,
  type FeedbackCell,
  type FeedbackRates,
} from "../../algorithms/off-policy/feedback-rate.ts";
import { createLogBuilder, growing, type LoggedChoices } from "../../algorithms/off-policy/log.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { selectCells, selectPage, selectReasons, type LeftOut } from "./statements.ts";
import { targetProbabilities, type Serving, type Target } from "../../operators/route/target.ts";

export interface Window {
  /** Milliseconds since the epoch; until is not in it. */
  since: number;
  until: number;
  /** tenant/domain; absent: all. */
  domain?: string | undefined;
}

export interface ReadOptions {
  clickhouse: Pick<ClickHouse, "query">;
  window: Window;
  targets: readonly Target[];
  serving: Serving;
  maxDecisions: number;
  /**
   * true: decisions without feedback are read, and rewards weighted by arm, length and domain;
   * false: weighted by whether asked, where that matters; all: every decision is read.
   */
  correctFeedback: boolean | "all";
  signal: AbortSignal;
  onProgress?: (read: number, of: number) => void;
}

export interface Identities {
  requestId: string[];
  tenant: string[];
  domain: string[];
  decidedAt: number[];
}

export interface ReadLog {
  log: LoggedChoices;
  /** One array per target: its probability of choosing each candidate. */
  targets: Float64Array[];
  of: Identities;
  /** As EstimatorOptions.feedbackWeight; undefined: not corrected. */
  feedbackWeight: Float64Array | undefined;
  correctedBy: "nothing" | "asking" | "kind";
  leftOut: ReadonlyMap<LeftOut, number>;
  usable: number;
  rates: FeedbackRates;
}

interface PageRow {
  request_id: string;
  tenant: string;
  domain: string;
  decided_at: number;
  chosen: number;
  reward: number | null;
  arm: string[];
  model: string[];
  cost: number[];
  context: number[][];
  bias: number[];
  probability: number[];
  ask_probability: number;
}

const pageSize = 5_000;
/** Component of the context that says how long the prompt is. */
const promptLength = 2;

export async function readLog(options: ReadOptions): Promise<ReadLog> {
  const { clickhouse, window, targets, serving, maxDecisions, ...rest } = options;
  const { correctFeedback, signal, onProgress } = rest;
  const parameters = {
    ...window,
    domain: window.domain ?? "",
    featureVersion: FEATURE_VERSION,
    dimension: FEATURE_COUNT,
  };
  const whole = { ...parameters, pages: 1, page: 0 };
  const reasons = await clickhouse.query<{ reason: LeftOut | ""; decisions: number }>(selectReasons, whole);
  const rates = feedbackRates(await clickhouse.query<FeedbackCell>(selectCells, whole));
  const leftOut = new Map(reasons.flatMap(({ reason, decisions }) => (reason === "" ? [] : [[reason, decisions]])));
  const heard = reasons.find(({ reason }) => reason === "")?.decisions ?? 0;
  const correctedBy = correctFeedback !== false ? "kind" : rates.selective ? "asking" : "nothing";
  const unheard = correctedBy !== "nothing";
  // Nothing that was heard can stand for those who are never asked and never say anything.
  const silent = correctFeedback === "all" ? 0 : rates.silent;
  const usable = heard + (unheard ? (leftOut.get("feedback_missing") ?? 0) - silent : 0);
  if (unheard) leftOut.delete("feedback_missing");
  if (unheard && silent > 0) leftOut.set("feedback_missing", silent);

  const builder = createLogBuilder(FEATURE_COUNT);
  const probabilities = targets.map(() => growing((length) => new Float64Array(length)));
  const feedbackWeight = growing((length) => new Float64Array(length));
  const of: Identities = { requestId: [], tenant: [], domain: [], decidedAt: [] };
  let [notAllowed, read] = [0, 0];
  const pages = Math.max(1, Math.ceil(usable / pageSize));
  for (let page = 0; page < pages && read < maxDecisions; page++) {
    signal.throwIfAborted();
    const rows = await clickhouse.query<PageRow>(selectPage, {
      ...parameters,
      pages,
      page,
      unheard,
      never: silent === 0,
    });
    for (const row of rows.slice(0, maxDecisions - read)) {
      const candidates = row.arm.map((arm, i) => ({
        ...{ arm, model: row.model[i]!, context: row.context[i]!, bias: row.bias[i]! },
        ...{ probability: row.probability[i]!, logged: row.probability[i]!, cost: row.cost[i]!, x: row.context[i]! },
      }));
      const chosen = candidates[row.chosen]!;
      read++;
      const wanted = targets.map((target) => targetProbabilities(target, candidates, serving, row));
      if (wanted.includes(null)) {
        notAllowed++;
        continue;
      }
      builder.add({ requestId: row.request_id, candidates, chosen: row.chosen, reward: row.reward });
      wanted.forEach((shares, i) => shares!.forEach((share) => probabilities[i]!.push(share)));
      const length = lengthClass(chosen.context[promptLength]!);
      const heardOf =
        correctedBy === "asking"
          ? rates.askedRateOf(row.ask_probability)
          : rates.rateOf(chosen.arm, length, row.domain, row.ask_probability);
      feedbackWeight.push(row.reward === null ? 0 : 1 / heardOf);
      of.requestId.push(row.request_id);
      of.tenant.push(row.tenant);
      of.domain.push(row.domain);
      of.decidedAt.push(row.decided_at);
    }
    onProgress?.(read, Math.min(usable, maxDecisions));
  }
  if (notAllowed > 0) leftOut.set("not_allowed", notAllowed);
  return {
    log: builder.done(),
    targets: probabilities.map((one) => one.done()),
    of,
    feedbackWeight: unheard ? feedbackWeight.done() : undefined,
    correctedBy,
    ...{ leftOut, usable, rates },
  };
}
