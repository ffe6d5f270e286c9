// Makes the lines of a batch's result files: the input in its order, each line with its recorded
// response. Results are not stored, so what is redacted or erased in the log is so here.
import { capabilities } from "../../algorithms/routing/passthrough.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Response } from "../../schemas/types.ts";
import type { Served } from "../api/request.ts";
import { ApiError, errorBody, errorOfResponse } from "../errors.ts";
import { lineRequest } from "./line-request.ts";
import type { ResultKind } from "./objects.ts";
import type { LineAt, ReadLines } from "./read-lines.ts";
import { readRecorded } from "./recorded.ts";
import type { StoredBatch } from "./table.ts";

export interface ResultLine {
  kind: ResultKind;
  /** Ends in a line feed. */
  text: string;
  /** Whether the line was asked. */
  asked: boolean;
}

export interface ResultsDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  readLines: ReadLines;
  mostLineBytes: number;
}

export type Results = (
  batch: StoredBatch,
  status: "completed" | "expired" | "cancelled",
  signal: AbortSignal,
) => AsyncGenerator<ResultLine>;

/** Answers are rendered even if no present arm takes their parameters. */
const everything: Served = new Set([...capabilities, "hints"]);
/** Lines whose answers are looked up and held together. */
const pageLines = 100;

/** Rejects with ApiError, as the ClickHouse port does, and on abort. */
export function createResults({ clickhouse, readLines, mostLineBytes }: ResultsDependencies): Results {
  return async function* results(batch, status, signal) {
    const { id, tenant, createdAt, order } = batch;
    const options = { endpoint: order.endpoint, served: everything, mostBytes: mostLineBytes };

    const render = async (page: readonly LineAt[]): Promise<ResultLine[]> => {
      const [first, last] = [page[0]?.line ?? 0, page.at(-1)?.line ?? 0];
      const answers = await readRecorded(clickhouse, { batchId: id, tenant, first, last, since: createdAt });
      return page.map((line) => {
        const response = answers.get(line.line);
        const ended = response === undefined ? unasked[status] : endedBy(response, status);
        const text = (more: object): string =>
          `${JSON.stringify({ id: lineId(id, line.line), custom_id: line.customId, ...more })}\n`;
        if (response === undefined || ended !== undefined)
          return { kind: "error", asked: false, text: text({ response: null, error: ended ?? unasked.completed }) };
        const { kind, answer } = answerOf(line, response, options);
        return { kind, asked: true, text: text({ response: answer, error: null }) };
      });
    };

    let page: LineAt[] = [];
    for await (const line of readLines(batch.file, signal)) {
      page.push(line);
      if (page.length < pageLines) continue;
      yield* await render(page);
      page = [];
    }
    if (page.length > 0) yield* await render(page);
  };
}

const lineId = (batchId: string, line: number): string =>
  `batch_req_${batchId.replace("batch_", "")}${String(line).padStart(9, "0")}`;

/** Why a line has no answer, by the status of the batch. */
const unasked = {
  expired: {
    code: "batch_expired",
    message: "This request could not be executed before the completion window expired.",
  },
  cancelled: { code: "batch_cancelled", message: "This request was not executed: its batch was cancelled." },
  completed: { code: "not_recorded", message: "The answer to this request is not recorded, or was erased." },
};

/** The error of a line that its batch's end ended; undefined: it has a response. */
function endedBy({ status, error }: Response, how: keyof typeof unasked): (typeof unasked)["expired"] | undefined {
  if (status === "ok") return undefined;
  const isOurs =
    (how === "cancelled" && error?.code === "cancelled") || (how === "expired" && error?.code === "deadline_exceeded");
  return isOurs ? unasked[how] : undefined;
}

function answerOf(
  line: LineAt,
  response: Response,
  options: Parameters<typeof lineRequest>[1],
): { kind: ResultKind; answer: object } {
  const { requestId } = response;
  const failed = (error: ApiError) => ({
    kind: "error" as const,
    answer: { status_code: error.status, request_id: requestId, body: errorBody(error) },
  });
  if (response.status !== "ok") return failed(refusalOf(response));
  let body: object | string;
  try {
    const { body: asked, answer } = lineRequest(line, options);
    body = answer(response, { requestId, model: asked.model, created: Math.floor(response.createdAt / 1_000) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The line was valid when it was asked; the arms have changed since.
    return failed(error);
  }
  return {
    kind: "output",
    answer: {
      status_code: 200,
      request_id: requestId,
      body: typeof body === "string" ? (JSON.parse(body) as object) : body,
    },
  };
}

/** Status of codes that only the gateway refuses with. */
const statusOfCode: Readonly<Record<string, number>> = {
  ...{ invalid_api_key: 401, arm_not_allowed: 403, domain_not_allowed: 403, model_not_found: 404, body_too_large: 413 },
};

function refusalOf(response: Response): ApiError {
  const { status, code, message, param } = errorOfResponse(response);
  return new ApiError({ status: statusOfCode[code] ?? status, code, message, param });
}
