// The response that plan gives to a request it will not pass on: still exactly one response, on the
// partition the client reads.
import { identify, sharingDomain } from "../algorithms/identity/identity.ts";
import { noAnswer } from "../schemas/no-answer.ts";
import type { Problem } from "../runtime/pipeline.ts";
import type { Emit, Received } from "../runtime/step.ts";
import type { Request, Response, ResponseError } from "../schemas/types.ts";

/** The partition asked for, if it exists, or the stage would stop; else the key decides. */
export function replyPartition(request: Pick<Request, "replyPartition">, partitions: number): { partition?: number } {
  const wanted = request.replyPartition;
  return wanted !== null && Number.isInteger(wanted) && wanted >= 0 && wanted < partitions ? { partition: wanted } : {};
}

/** `param`: the member of the request that is wrong. */
export const responseError = ({
  code,
  message,
  param = null,
  retryAfterMs = null,
}: Pick<ResponseError, "code" | "message"> & {
  param?: string | null | undefined;
  retryAfterMs?: number | null | undefined;
}): ResponseError => ({ code, message, param, retryAfterMs });

/** `now` in milliseconds since the epoch. `partitions`: how many the responses topic has. */
export function refusedResponse(
  received: Received<Request>,
  { status, code, message, repeat = false }: Problem,
  now: number,
  partitions: number,
): Emit<"responses"> {
  const request = identify(received.record, received.position, received.timestamp);
  const record: Response = {
    ...noAnswer(),
    requestId: request.id,
    tenant: request.tenant,
    domain: sharingDomain(request.tenant, request.domain),
    status,
    duplicate: repeat,
    account: request.account,
    timings: { plan: now - received.receivedAt, queue: 0, firstToken: null, total: now - received.timestamp },
    error: responseError({ code, message }),
    createdAt: now,
  };
  return { output: "responses", key: request.id, record, ...replyPartition(request, partitions) };
}
