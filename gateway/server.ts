// The HTTP server: bodies are bounded and parsed here, what routes throw becomes OpenAI's error
// format, or Anthropic's at its addresses. No route answers with a status of its own for an error.
import type { ServerResponse } from "node:http";
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from "fastify";
import type { Logger } from "pino";
import { createGuardedServer } from "../connections/http/guard.ts";
import { filesPath, messagesPath } from "./addresses.ts";
import { anthropicErrorBody } from "./api/anthropic/errors.ts";
import { ApiError, badRequest, errorBody, errorHeaders } from "./errors.ts";
import { parseJson } from "./json.ts";
import { rarely } from "../algorithms/queueing/rarely.ts";
import { disconnectWhenStuck } from "./slow-reader.ts";
import type { Unsent } from "./unsent.ts";

export interface ServerOptions {
  maxBodyBytes: number;
  /** A client that takes nothing of its answer for so long is disconnected. */
  slowReaderMs: number;
  /** Absent: what all answers hold together has no bound. */
  unsent?: Unsent;
  /** Connections of all addresses together. */
  maxConnections?: number;
  log: Logger;
}

/** A body must be there in this time; a connection may be idle for longer. */
const bodyMs = 30_000;
/** Time for an upload of 200 MiB over a slow network, ms. */
const uploadMs = 600_000;
const idleMs = 75_000;
/**
 * Connections that may wait to be accepted: thousands of clients come back in one moment after an
 * outage, and while a process is busy the kernel resets those for whom there is no place here. The
 * kernel's own bound is net.core.somaxconn.
 */
const backlog = 4_096;

export function createServer(options: ServerOptions): FastifyInstance {
  const { maxBodyBytes, slowReaderMs, unsent, maxConnections = 1_024, log } = options;
  const isDue = rarely({ first: 1_000, limit: 600_000 }, () => performance.now());
  const server = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    // Only what monitors and clients probe: a stream or a download without its body would go on.
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 1_024 },
    // The router calls it: there is a request, but no route whose error handler could answer.
    frameworkErrors: (error, _request, reply) => sendError(reply as FastifyReply, routerError(error)),
    // The guarded server answers these.
    clientErrorHandler: () => undefined,
    serverFactory: (listener) =>
      createGuardedServer(listener, {
        ...{ maxConnections, requestMs: bodyMs, idleMs },
        longer: { ms: uploadMs, isMeant: ({ url = "" }) => url.split("?", 1)[0] === filesPath },
        bodyOf: (refusal) => ({ type: "application/json", text: JSON.stringify(errorBody(refusal)) }),
        onClosed(address) {
          if (isDue()) log.warn({ address, maxConnections }, "idle connections are closed: there are too many");
        },
        onError: (error) => log.error({ err: error }, "the gateway's server failed outside of a request"),
      }),
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", { parseAs: "string" }, ({ headers }, body, done) => {
    try {
      refuseEncoded(headers["content-encoding"]);
      // Clients name the type of a body that they do not send. A route that needs one says so.
      done(null, body === "" ? undefined : parseJson(String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
  // Before fastify's own listener, which may answer at once.
  server.server.prependListener("request", (_request, response) => {
    disconnectWhenStuck(response, slowReaderMs);
    if (unsent !== undefined) countUnsent(response, unsent);
  });
  server.setErrorHandler((error: FastifyError | ApiError, { method, routeOptions: { url = "" } }, reply) => {
    const known = error instanceof ApiError ? error : serverError(error, `${method} ${url}`, log);
    sendError(reply, known, bodyAt(url));
  });
  server.setNotFoundHandler(({ method, url }, reply) => {
    sendError(reply, notFound(`${method} ${url.slice(0, 100).replace(/\?.*/, "")}`), bodyAt(url));
  });
  return server;
}

/** Throws ApiError: what a few bytes unpack to has no bound that the sender pays for. */
export function refuseEncoded(encoding = "identity"): void {
  if (encoding.toLowerCase() !== "identity")
    throw new ApiError({
      ...{ status: 415, code: "encoded_body" },
      message: `The body has the content-encoding ${encoding.slice(0, 50)}: send it as it is.`,
    });
}

/** Counts unsent bytes of an answer sent at once; a stream counts its own (stream.ts). */
function countUnsent(response: ServerResponse, unsent: Unsent): void {
  response.once("prefinish", () => unsent.holds(response, response.writableLength));
  for (const over of ["finish", "close"]) response.once(over, () => unsent.holds(response, 0));
}

const bodyAt = (url: string): ((error: ApiError) => object) =>
  url.startsWith(messagesPath) ? anthropicErrorBody : errorBody;

function sendError(reply: FastifyReply, error: ApiError, bodyOf: (error: ApiError) => object = errorBody): void {
  void reply.code(error.status).headers(errorHeaders(error)).send(bodyOf(error));
}

const notFound = (what: string): ApiError =>
  new ApiError({
    status: 404,
    code: "unknown_url",
    message: `There is no ${what} (docs/gateway.md says what there is).`,
  });

/** An error of the server: a body too large, of another type or cut; or a bug. */
function serverError(error: FastifyError, where: string, log: Logger): ApiError {
  const status = error.statusCode ?? 500;
  if (status < 500) {
    const code = error.code === "FST_ERR_CTP_BODY_TOO_LARGE" ? "body_too_large" : "bad_request";
    return new ApiError({ status, code, message: error.message });
  }
  log.error({ err: error, where }, "a request to the gateway failed");
  return new ApiError({ status: 500, code: "internal_error", message: "The gateway failed; its log says why." });
}

function routerError({ code }: FastifyError): ApiError {
  if (code === "FST_ERR_MAX_PARAM_LENGTH")
    return new ApiError({ status: 414, code: "url_too_long", message: "A name or id in the address is too long." });
  return badRequest("This address can't be decoded: a percent sign begins no character.", undefined, "bad_url");
}

export const listen = (server: FastifyInstance, { host, port }: { host: string; port: number }): Promise<string> =>
  server.listen({ host, port, backlog });
