// What plan and generate owe their readers when no operator produced an answer: the deadline, and
// the one final response.
import { deadlineOf, identify, workDeadline } from "../algorithms/identity/identity.ts";
import type { Problem, SourceContract } from "../runtime/pipeline.ts";
import { failedResponse } from "./call/response.ts";
import { refusedResponse, replyPartition } from "./refusal.ts";

export interface ContractDependencies {
  limits: { deadlineMs: number; maxDeadlineMs?: number };
  partitions: () => number;
  clock: () => number;
}

export function planContract({
  limits,
  partitions,
  clock,
}: ContractDependencies): SourceContract<"requests", "responses"> {
  return {
    deadline: ({ record, timestamp }) =>
      deadlineOf({ allow: record.allow, createdAt: timestamp }, limits.deadlineMs, limits.maxDeadlineMs),
    id: ({ record, position, timestamp }) => identify(record, position, timestamp).id,
    answer: (received, problem: Problem) => [refusedResponse(received, problem, clock(), partitions())],
  };
}

export function generateContract({
  partitions,
  clock,
}: ContractDependencies): SourceContract<"work", "responses" | "alternative-answers"> {
  return {
    // Work comes from plan, whose clock is one of ours; it may have waited for long.
    toleranceMs: Infinity,
    deadline: ({ record, timestamp }) => workDeadline(record, timestamp),
    id: ({ record }) => record.decision.requestId,
    answer({ record }, { status, code, message }) {
      const { requestId } = record.decision;
      const now = clock();
      const failure = { kind: "failure", code, message, attempts: 0, retriable: false } as const;
      const response = { ...failedResponse(record, requestId, failure, { called: now, finished: now }), status };
      return record.role === "alternative"
        ? [{ output: "alternative-answers", key: requestId, record: response }]
        : [{ output: "responses", key: requestId, record: response, ...replyPartition(record.request, partitions()) }];
    },
  };
}
