// Asks one line of a batch like a client's request: routed, within the limits of its key. Its id
// follows from batch and line number, so a line that is asked again after a crash is the same
// request and gets its first answer. A line that can't be asked gets a refusal on the topic
// responses, where all answers are.
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import type { Codec } from "../../connections/registry/port.ts";
import type { Topic } from "../../schemas/records.ts";
import { deferral, noAnswer } from "../../schemas/no-answer.ts";
import type { BatchLine, Request, Response } from "../../schemas/types.ts";
import type { Caller } from "../caller.ts";
import type { Ask } from "../ask.ts";
import { servedBy, type Aliases, type NamedArm } from "../api/models.ts";
import { ApiError } from "../errors.ts";
import { requestOf } from "../routes/answer.ts";
import type { Send } from "../send.ts";
import { lineRequest } from "./line-request.ts";
import type { Outcome } from "./position.ts";
import { requestIdOf } from "./recorded.ts";
import type { StoredBatch } from "./table.ts";

export interface AskLineDependencies {
  ask: Ask;
  send: Send<Topic<"responses">>;
  codec: Pick<Codec, "encode">;
  topic: Topic<"responses">;
  arms: () => readonly NamedArm[];
  aliases: Aliases["aliases"];
  /** batch.costWeight; undefined: the weight of other requests. */
  costWeight: number | undefined;
  maxDeadlineMs: number;
  mostLineBytes: number;
  clock: () => number;
}

/** caller: null once its key is invalid. Rejects with Busy, or the signal's reason. */
export type AskLine = (
  batch: StoredBatch,
  line: BatchLine,
  options: { caller: Caller | null; signal: AbortSignal },
) => Promise<Outcome>;

/** The line can't be asked now: a limit, or the brokers are away. */
export class Busy extends Error {
  override name = "Busy";
  constructor(
    readonly afterMs: number,
    cause: ApiError,
  ) {
    super(cause.message, { cause });
  }
}

/** A limit, or brokers or stages that are away or overloaded: the line may be answered later. */
const passing = new Set([429, 503, 504]);
/** Longest wait between two tries, since a limit may be raised meanwhile. */
const longestWaitMs = 60_000;

export function createAskLine(dependencies: AskLineDependencies): AskLine {
  const { ask, send, codec, topic, arms, aliases, costWeight, maxDeadlineMs, mostLineBytes, clock } = dependencies;

  const read = (batch: StoredBatch, line: BatchLine, caller: Caller | null): Request & { id: string } => {
    if (caller === null)
      throw new ApiError({
        ...{ status: 401, code: "invalid_api_key" },
        message: "The API key of this batch was revoked or has expired.",
      });
    const { endpoint, expiresAt } = batch.order;
    const { body } = lineRequest(line, { endpoint, served: servedBy(arms()), mostBytes: mostLineBytes });
    const { allow } = body.request;
    const left = Math.max(1, Math.min(expiresAt - clock(), maxDeadlineMs));
    const deadlineMs = Math.min(allow.deadlineMs ?? left, left);
    const request = {
      ...body.request,
      allow: { ...allow, deadlineMs, costWeight: allow.costWeight ?? costWeight ?? null },
      // A line with a deadline of its own is for arms that answer at once.
      batchUntil: allow.deadlineMs === null ? expiresAt : null,
      // No user waits for the answer who could rate or compare it.
      ...{ mayAsk: false, mayCompare: false },
    };
    const id = requestIdOf(batch.id, line.line);
    return requestOf({ ...body, request }, caller, { arms: arms(), aliases, id });
  };
  const refuse = async ({ id, tenant, order }: StoredBatch, { line }: BatchLine, error: ApiError): Promise<void> => {
    const requestId = requestIdOf(id, line);
    const { code, message, param = null } = error;
    const response: Response = {
      ...noAnswer(),
      ...{ requestId, tenant, domain: sharingDomain(tenant, null), status: "refused", account: order.account },
      ...{ error: { code, message, param, retryAfterMs: null }, createdAt: clock() },
    };
    await send({ topic, key: requestId, value: codec.encode("responses", response) });
  };

  return async function askLine(batch, line, { caller, signal }) {
    try {
      let request: Request & { id: string };
      try {
        request = read(batch, line, caller);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        await refuse(batch, line, error);
        return "failed";
      }
      caller?.limits?.request();
      const within = caller?.limits?.within(ask) ?? ask;
      // A stopping gateway does not cancel it: asked again, it gets this answer.
      const response = await within(request, { signal, keep: true });
      if (response.status === "ok") return "completed";
      return response.error?.code === deferral.code ? "deferred" : "failed";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!passing.has(error.status)) {
        await refuse(batch, line, error);
        return "failed";
      }
      throw new Busy(Math.min(longestWaitMs, 1_000 * (error.retryAfter ?? 1)), error);
    }
  };
}
