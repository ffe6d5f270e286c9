// Files and batches in OpenAI's format.
import type { BatchResult, LineProblem } from "../../schemas/types.ts";
import { keptMs } from "./limits.ts";
import { isFailed, type StoredBatch, type StoredFile } from "./table.ts";

export type ResultKind = "output" | "error";

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000);

export const fileObject = ({
  id,
  createdAt,
  file: { name, bytes },
}: Pick<StoredFile, "id" | "createdAt" | "file">) => ({
  ...{ id, object: "file", bytes, filename: name, purpose: "batch", status: "processed", status_details: null },
  ...{ created_at: seconds(createdAt), expires_at: seconds(createdAt + keptMs) },
});

/** The id of a result file names its batch. */
const fileIdOf = (batchId: string, kind: ResultKind): string => `file-${batchId}-${kind}`;
/** Undefined: not the id of a result file. */
export function resultOf(fileId: string): { batchId: string; kind: ResultKind } | undefined {
  const [, batchId, kind] = /^file-(batch_[0-9a-f]{32})-(output|error)$/.exec(fileId) ?? [];
  return batchId === undefined ? undefined : { batchId, kind: kind as ResultKind };
}

const bytesOf = (result: BatchResult, kind: ResultKind): number =>
  kind === "output" ? result.outputBytes : result.errorBytes;

/** The result files of a batch; an empty one is left out. */
export function resultFiles({ id, createdAt, progress }: StoredBatch) {
  const result = progress?.result ?? null;
  if (result === null) return [];
  return (["output", "error"] as const).flatMap((kind) => {
    const bytes = bytesOf(result, kind);
    if (bytes === 0) return [];
    const fileId = fileIdOf(id, kind);
    return [
      {
        ...{ id: fileId, object: "file", bytes, filename: `${id}_${kind}.jsonl`, purpose: "batch_output" },
        ...{ status: "processed", status_details: null },
        // Results need the lines of the input, which are kept until then.
        ...{ created_at: seconds(result.finishedAt), expires_at: seconds(createdAt + keptMs) },
      },
    ];
  });
}

export type BatchStatus =
  "validating" | "failed" | "in_progress" | "finalizing" | "completed" | "expired" | "cancelling" | "cancelled";

export function statusOf(batch: StoredBatch): BatchStatus {
  const { progress, cancelledAt } = batch;
  if (isFailed(batch)) return "failed";
  const status = progress?.result?.status;
  if (status !== undefined) return status as BatchStatus;
  if (cancelledAt !== undefined) return "cancelling";
  if (progress === undefined) return "validating";
  return progress.finalizingAt === null ? "in_progress" : "finalizing";
}

const problemOf = ({ line, code, message, param }: LineProblem) => ({ line, code, message, param });

export function batchObject(batch: StoredBatch) {
  const { id, createdAt, file, order, progress, cancelledAt } = batch;
  const status = statusOf(batch);
  const finishedAt = progress?.result?.finishedAt ?? null;
  const at = (time: number | null | undefined, when = true) =>
    when && typeof time === "number" ? seconds(time) : null;
  const files = resultFiles(batch).map((one) => one.id);
  return {
    ...{ id, object: "batch", endpoint: order.endpoint, model: null, status, input_file_id: file.id },
    errors: isFailed(batch) ? { object: "list", data: file.problems.map(problemOf) } : null,
    completion_window: "24h",
    output_file_id: files.find((one) => one === fileIdOf(id, "output")) ?? null,
    error_file_id: files.find((one) => one === fileIdOf(id, "error")) ?? null,
    created_at: seconds(createdAt),
    in_progress_at: at(progress?.startedAt),
    expires_at: seconds(order.expiresAt),
    finalizing_at: at(progress?.finalizingAt),
    completed_at: at(finishedAt, status === "completed"),
    failed_at: at(createdAt, status === "failed"),
    expired_at: at(finishedAt, status === "expired"),
    cancelling_at: at(cancelledAt, status !== "failed"),
    cancelled_at: at(finishedAt, status === "cancelled"),
    request_counts: {
      total: isFailed(batch) ? 0 : file.lines,
      completed: (progress?.completed ?? 0) + (progress?.completedAhead ?? 0),
      failed: (progress?.failed ?? 0) + (progress?.failedAhead ?? 0),
    },
    metadata: order.metadata,
  };
}

/** A page of a sorted list, behind the id `after`. Undefined: there is no such id. */
export function pageOf<T extends { id: string }>(
  all: readonly T[],
  { after, limit }: { after?: string | undefined; limit: number },
) {
  const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) return undefined;
  const data = all.slice(from, from + limit);
  return {
    ...{ object: "list", data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null },
    has_more: from + limit < all.length,
  };
}
