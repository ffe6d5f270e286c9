// What plan and generate owe their readers when no operator produced an answer: the deadline, and
// the one final response.
import { deadlineOf, identify, workDeadline } from "../algorithms/identity/identity.ts";
import type { Problem, SourceContract } from "../runtime/pipeline.ts";
import { failedResponse } from "./call/response.ts";
import type { SeenIds } from "./deduplicate/seen.ts";
import { refusedResponse, replyPartition } from "./refusal.ts";

export interface ContractDependencies {
  limits: { deadlineMs: number; maxDeadlineMs?: number };
  partitions: () => number;
  clock: () => number;
}

export interface PlanContractDependencies extends ContractDependencies {
  seen: Pick<SeenIds, "firstAt" | "hashOf">;
}

export function planContract(
  dependencies: PlanContractDependencies,
): SourceContract<"requests", "responses" | "seen-ids"> {
  const { limits, partitions, clock, seen } = dependencies;
  return {
    deadline: ({ record, timestamp }) =>
      deadlineOf({ allow: record.allow, createdAt: timestamp }, limits.deadlineMs, limits.maxDeadlineMs),
    id: ({ record, position, timestamp }) => identify(record, position, timestamp).id,
    answer(received, problem: Problem) {
      const { record, position } = received;
      const id = record.id ?? "";
      // Whatever ends a repeat, its response must not stand in for the first one.
      const repeat =
        seen.hashOf(record.tenant, id) !== undefined && seen.firstAt(record.tenant, id, position) === undefined;
      return [refusedResponse(received, repeat ? { ...problem, repeat } : problem, clock(), partitions())];
    },
    always({ record: { id, tenant }, position }) {
      const requestId = id ?? "";
      const first = seen.firstAt(tenant, requestId, position);
      if (first === undefined) return [];
      const { partition, offset } = position;
      return [{ output: "seen-ids", key: requestId, partition, record: { requestId, tenant, offset, ...first } }];
    },
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
