// What every HTTP server of ours does besides its requests: connections are bounded, silent ones
// end, what Node.js itself refuses has the format of the server's other errors, and no error of a
// connection or of a listener reaches the process.
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { boundConnections } from "./connection-bounds.ts";
import { endWithLastAnswers } from "./last-answers.ts";

export interface Refusal {
  status: number;
  /** snake_case, stable. */
  code: string;
  message: string;
}

export interface GuardOptions {
  /** Connections of all addresses together; one address holds at most as many as it leaves free. */
  maxConnections: number;
  /** Milliseconds that a whole request may take to arrive, and that a connection may be idle. */
  requestMs: number;
  idleMs: number;
  /** Requests that may take longer to arrive: uploads. */
  longer?: { ms: number; isMeant: (request: IncomingMessage) => boolean };
  /** An error's body in the server's format. */
  bodyOf: (refusal: Refusal) => { type: string; text: string };
  /** Called with the address whose connection is closed for another one or refused. */
  onClosed?: (address: string) => void;
  /** Called for what is no client's error: a bug, or a connection that can't be accepted. */
  onError: (error: unknown) => void;
}

/** The head of a request must be there in this time; the first one's counts from the connection. */
const headMs = 10_000;
/** How often Node.js looks for connections that are over time. */
const checkMs = 5_000;
/** The first probe of a silent connection; the kernel repeats it (net.ipv4.tcp_keepalive_intvl). */
const aliveMs = 60_000;
const ignore = (): void => undefined;

export function createGuardedServer(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  { maxConnections, requestMs, idleMs, longer, bodyOf, onClosed = ignore, onError }: GuardOptions,
): Server {
  const times = {
    ...{ headersTimeout: Math.min(headMs, requestMs), keepAliveTimeout: idleMs },
    requestTimeout: Math.max(requestMs, longer?.ms ?? 0),
  };
  // A request that is answered late leaves its connection silent, which networks forget sooner.
  const alive = { keepAlive: true, keepAliveInitialDelay: aliveMs };
  const server = createServer({ ...times, ...alive, connectionsCheckingInterval: checkMs });
  boundConnections(server, maxConnections, onClosed);
  endWithLastAnswers(server);

  const refuse = (response: ServerResponse, { status, ...more }: Refusal): void => {
    const { type, text } = bodyOf({ status, ...more });
    const headers = { "content-type": type, "content-length": Buffer.byteLength(text), connection: "close" };
    response.writeHead(status, headers).end(text);
  };
  /** The last request of each connection. */
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.on("request", (request, response) => {
    answering.set(request.socket, response);
    if (longer?.isMeant(request) === false) {
      // Node.js has one request timeout per server.
      const late = setTimeout(() => refuseRaw(request.socket, refusalOf({ code: overTime })), requestMs).unref();
      request.once("close", () => clearTimeout(late)).once("end", () => clearTimeout(late));
    }
    try {
      listener(request, response);
    } catch (error) {
      onError(error);
      if (response.headersSent) response.destroy();
      else refuse(response, { status: 500, code: "internal_error", message: "The server failed; its log says why." });
    }
  });
  server.on("checkExpectation", (_request, response) => {
    refuse(response, { status: 417, code: "unknown_expectation", message: "Expect may only be 100-continue." });
  });
  /** Where Node.js has made no response. */
  const refuseRaw = (socket: Duplex, refusal: Refusal): void => {
    socket.on("error", ignore);
    const { headersSent, writableFinished } = answering.get(socket) ?? {};
    if (socket.writable && (headersSent !== true || writableFinished === true)) {
      const { type, text } = bodyOf(refusal);
      socket.write(
        `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ""}\r\ncontent-type: ${type}\r\n` +
          `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
      );
    }
    // Node.js does so, too: what is written is on its way.
    socket.destroy();
  };
  server.on("clientError", (error: Pick<NodeJS.ErrnoException, "code">, socket) => refuseRaw(socket, refusalOf(error)));
  server.on("connect", (_request, socket) => {
    refuseRaw(socket, { status: 405, code: "unknown_method", message: "CONNECT is not served: this is no proxy." });
  });
  // Until it listens an error is the caller's.
  server.on("listening", () => {
    server.off("error", onError).on("error", onError);
  });
  return server;
}

const overTime = "ERR_HTTP_REQUEST_TIMEOUT";

function refusalOf({ code }: Pick<NodeJS.ErrnoException, "code">): Refusal {
  if (code === "HPE_HEADER_OVERFLOW")
    return { status: 431, code: "headers_too_large", message: "URL and headers have at most 16 KiB together." };
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return { status: 413, code: "body_too_large", message: "The extensions of the body's chunks are too long." };
  if (code === overTime)
    return { status: 408, code: "request_timeout", message: "The request did not arrive in time." };
  return { status: 400, code: "bad_request", message: "This is no valid HTTP request." };
}
