// Asks for an answer as a body says, and gives it in the format of its address, streamed or not.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Request, Response } from "../../schemas/types.ts";
import type { Caller } from "../caller.ts";
import type { Ask, AskOptions } from "../ask.ts";
import type { Chunks } from "../api/chunks.ts";
import { armsAllowed, checkCapable, resolveModel, type Aliases, type NamedArm } from "../api/models.ts";
import type { ChatBody } from "../api/request.ts";
import { responseHeaders } from "../api/response.ts";
import { closed } from "../closed.ts";
import { ApiError, badRequest, errorOfResponse } from "../errors.ts";
import type { FeedbackTokens } from "../feedback-token.ts";
import { requestIdFor } from "../idempotency.ts";
import { openStream, type StreamOptions } from "../stream.ts";
import type { SpanOf } from "../tracing.ts";

export interface AnswerDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  /** Absent: nothing is traced. */
  spanOf?: SpanOf;
  ask: Ask;
  arms: () => readonly NamedArm[];
  streams: Omit<StreamOptions, "chunks">;
  clock: () => number;
  /** Names of models for arms, as configured. */
  aliases?: Aliases["aliases"];
  /** Asks several times for one request; anew: counts a further one. */
  several?: (ask: Ask, anew: () => void) => Ask;
  /** Absent: answers come without a token for feedback. */
  tokens?: Pick<FeedbackTokens, "make"> | undefined;
}

/** Which request it is about. */
export interface Named {
  requestId: string;
  model: string;
  /** Seconds since the epoch. */
  created: number;
}

/** How an address says it. */
export interface Format {
  /** A string is JSON already. */
  answer(response: Response, of: Named): object | string;
  chunks(of: Named): Chunks;
}

/** Rejects with ApiError. */
export async function answerTo(
  incoming: FastifyRequest,
  reply: FastifyReply,
  body: ChatBody,
  format: Format,
  dependencies: AnswerDependencies,
): Promise<FastifyReply> {
  const { callerOf, spanOf, arms, aliases, clock, tokens } = dependencies;
  const caller = callerOf(incoming);
  const key = headerOf(incoming, "idempotency-key");
  const session = sessionIn(incoming);
  const id = requestIdFor(caller.tenant, key);
  const request = requestOf(body, caller, { arms: arms(), aliases, id, session });
  // OpenAI's clients read the first, Anthropic's the second.
  void reply.header("x-request-id", request.id).header("request-id", request.id);
  void reply.header("x-precedent-request-id", request.id);
  if (tokens !== undefined) {
    const allowed = { tenant: caller.tenant, requestId: request.id, keyId: caller.keyId ?? null };
    void reply.header("x-precedent-feedback-token", tokens.make(allowed));
  }
  const once = caller.limits?.within(dependencies.ask) ?? dependencies.ask;
  const ask = dependencies.several?.(once, () => caller.limits?.request()) ?? once;
  // Who sends a key may come back for the answer, which would else be that it was cancelled.
  const options = { signal: closed(reply), keep: key !== undefined, span: spanOf?.(incoming) };
  const of: Named = { requestId: request.id, model: body.model, created: Math.floor(clock() / 1_000) };
  const { pathOf } = body;
  if (body.stream) return streamed(reply, request, format.chunks(of), { ...dependencies, ask, options, pathOf });
  const response = await ask(request, options);
  if (response.status !== "ok") throw withHeaders(reply, response, pathOf);
  return reply.headers(responseHeaders(response)).type("application/json").send(format.answer(response, of));
}

async function streamed(
  reply: FastifyReply,
  request: Request & { id: string },
  chunks: Chunks,
  { ask, streams, options, pathOf }: AnswerDependencies & { options: AskOptions } & Pick<ChatBody, "pathOf">,
): Promise<FastifyReply> {
  const stream = openStream(reply, { ...streams, chunks });
  try {
    const response = await ask({ ...request, deltas: true }, { ...options, onDelta: stream.delta });
    if (response.status === "ok") stream.finish(response);
    else throw stream.hasBegun() ? errorOfResponse(response, pathOf) : withHeaders(reply, response, pathOf);
  } catch (error) {
    if (!stream.hasBegun() || !(error instanceof ApiError)) throw error;
    stream.fail(error);
  } finally {
    stream.close();
  }
  return reply;
}

interface Asking {
  arms: readonly NamedArm[];
  id: string;
  /** In place of what the metadata say. */
  session?: string | undefined;
}

/** The request as it is produced; the tenant is the caller's. Throws ApiError. */
export function requestOf(
  { request, model, fields }: Pick<ChatBody, "request" | "model" | "fields">,
  caller: Caller,
  { arms, aliases, id, session }: Asking & Pick<Aliases, "aliases">,
): Request & { id: string } {
  const { tenant, account, arms: keyArms, domains } = caller;
  const named = resolveModel(model, arms, { aliases, caller });
  const allowed = armsAllowed(named.arms, request.allow.arms, keyArms);
  const answering = request.batchUntil === null ? arms.filter(({ batch }) => batch !== true) : arms;
  checkCapable(allowed, fields, answering);
  const domain = request.domain === "" ? null : request.domain;
  if (domains !== null && !domains.includes(domain ?? "default"))
    throw new ApiError({
      ...{ status: 403, code: "domain_not_allowed", param: "precedent.domain" },
      message: `This key may use the domains ${domains.join(", ")}.`,
    });
  return {
    ...request,
    ...{ id, tenant },
    account: account ?? null,
    domain,
    ...(session && { metadata: { ...request.metadata, session } }),
    allow: { ...request.allow, arms: allowed, costWeight: request.allow.costWeight ?? named.costWeight },
  };
}

function withHeaders(reply: FastifyReply, response: Response, pathOf: ChatBody["pathOf"]): ApiError {
  void reply.headers(responseHeaders(response));
  return errorOfResponse(response, pathOf);
}

const sessionHeader = "x-precedent-session";
/** What feedback can name again: other bytes of a header are read differently by every client. */
const sessionShape = /^[ -~]{1,512}$/;

/** Throws ApiError. */
function sessionIn(incoming: FastifyRequest): string | undefined {
  const session = headerOf(incoming, sessionHeader);
  if (session === undefined || session === "" || sessionShape.test(session)) return session;
  throw badRequest(
    `${sessionHeader} is 1 to 512 characters of ASCII: name the session in metadata.session instead.`,
    sessionHeader,
  );
}

export const headerOf = ({ headers }: FastifyRequest, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(",") : value;
};
