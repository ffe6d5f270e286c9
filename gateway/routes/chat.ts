// POST /v1/chat/completions.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Request, Response } from "../../schemas/types.ts";
import type { Caller } from "../access.ts";
import type { Ask, AskOptions } from "../ask.ts";
import { closed } from "../closed.ts";
import { ApiError, errorOfResponse } from "../errors.ts";
import { requestIdFor } from "../idempotency.ts";
import { armsAllowed, armsOfModel, type NamedArm } from "../api/models.ts";
import { chatRequest, type ChatBody } from "../api/request.ts";
import { chatCompletion, responseHeaders } from "../api/response.ts";
import { openStream } from "../stream.ts";

export interface ChatDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  ask: Ask;
  arms: () => readonly NamedArm[];
  streams: { heartbeatMs: number; slowReaderMs: number };
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function addChat(server: FastifyInstance, dependencies: ChatDependencies): void {
  const { callerOf, arms } = dependencies;
  server.post("/v1/chat/completions", async (incoming, reply) => {
    const caller = callerOf(incoming);
    const body = chatRequest(incoming.body);
    const key = headerOf(incoming, "idempotency-key");
    const request = requestOf(body, caller, arms(), key);
    void reply.header("x-request-id", request.id).header("x-precedent-request-id", request.id);
    const ask = caller.limits?.within(dependencies.ask) ?? dependencies.ask;
    // Who sends a key may come back for the answer, which would else be that it was cancelled.
    const options = { signal: closed(reply), keep: key !== undefined };
    if (body.stream) return streamed(reply, body, request, { ...dependencies, ask, options });
    const response = await ask(request, options);
    if (response.status !== "ok") throw withHeaders(reply, response);
    return reply.headers(responseHeaders(response)).send(chatCompletion(response));
  });
}

async function streamed(
  reply: FastifyReply,
  { model, includeUsage }: ChatBody,
  request: Request & { id: string },
  { ask, streams, clock, options }: ChatDependencies & { options: AskOptions },
): Promise<FastifyReply> {
  const created = Math.floor(clock() / 1_000);
  const stream = openStream(reply, { ...streams, requestId: request.id, model, created, includeUsage });
  try {
    const response = await ask({ ...request, deltas: true }, { ...options, onDelta: stream.delta });
    if (response.status === "ok") stream.finish(response);
    else throw stream.hasBegun() ? errorOfResponse(response.error) : withHeaders(reply, response);
  } catch (error) {
    if (!stream.hasBegun() || !(error instanceof ApiError)) throw error;
    stream.fail(error);
  } finally {
    stream.close();
  }
  return reply;
}

/** The request as it is produced; the tenant is the caller's. */
function requestOf(
  { request, model }: Pick<ChatBody, "request" | "model">,
  { tenant, arms: keyArms, domains }: Caller,
  arms: readonly NamedArm[],
  idempotencyKey: string | undefined,
): Request & { id: string } {
  const allowed = armsAllowed(armsOfModel(model, arms), request.allow.arms, keyArms);
  const domain = request.domain === "" ? null : request.domain;
  if (domains !== null && !domains.includes(domain ?? "default"))
    throw new ApiError({
      ...{ status: 403, code: "domain_not_allowed", param: "precedent.domain" },
      message: `This key may use the domains ${domains.join(", ")}.`,
    });
  return {
    ...request,
    id: requestIdFor(tenant, idempotencyKey),
    tenant,
    domain,
    allow: { ...request.allow, arms: allowed },
  };
}

function withHeaders(reply: FastifyReply, response: Response): ApiError {
  void reply.headers(responseHeaders(response));
  return errorOfResponse(response.error);
}

export const headerOf = ({ headers }: FastifyRequest, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(",") : value;
};
