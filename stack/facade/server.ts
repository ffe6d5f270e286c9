// ClickHouse's HTTP interface over the engine, on 127.0.0.1. All but /ping need a token; a query
// ends with its client. Responses are sent when done: an error has a status, never a cut body.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { createGuardedServer } from "../../connections/http/guard.ts";
import { isLocalHost } from "../../connections/security/local-host.ts";
import { createBodyReader } from "./body.ts";
import type { Tokens } from "../tokens.ts";
import type { Engine } from "./engine.ts";
import { authenticationFailed, badArguments, errorText, httpStatus, toDatabaseError } from "./errors.ts";
import { authenticate, parseRequest } from "./request.ts";

const compress = promisify(gzip);
const maxConnections = 1_024;

export interface FacadeConfig {
  tokens: Tokens;
  maxBodyBytes: number;
  /** Maximum bytes of the bodies of all concurrent requests. */
  maxTotalBodyBytes: number;
}

export function createFacade(config: FacadeConfig, engine: Engine): Server {
  const bodies = createBodyReader({ maxBytes: config.maxBodyBytes, maxTotalBytes: config.maxTotalBodyBytes });

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL | null,
    queryId: string,
  ): Promise<void> {
    // A client of HTTP/1.0 may say none; a browser always does.
    if (request.headers.host !== undefined && !isLocalHost(request.headers.host))
      throw authenticationFailed(`Host ${request.headers.host} is not this machine.`);
    if (url === null) throw badArguments("This address can't be read.");
    const isPing = url.pathname === "/ping" || url.pathname === "/replicas_status";
    if (isPing || (request.method === "GET" && url.pathname === "/" && !url.searchParams.has("query"))) {
      response.writeHead(200, { "Content-Type": "text/html; charset=UTF-8" }).end("Ok.\n");
      return;
    }
    if (url.pathname !== "/") {
      response.writeHead(404).end(`There is no ${url.pathname} here: POST the query to /, or GET /ping.\n`);
      return;
    }
    if (request.method !== "GET" && request.method !== "POST")
      throw badArguments(`Method ${request.method} is not served; use GET or POST.`);
    // Before the body is read, so that unauthenticated requests are not buffered.
    const caller = authenticate(url, request.headers, config.tokens);
    const asked = parseRequest(url, request.headers);
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const body = await bodies.read(request);
    try {
      const sql = asked.query || body.bytes.toString("utf8");
      const result = await engine.run(
        {
          ...asked,
          sql,
          ...(asked.query && body.bytes.length > 0 ? { data: body.bytes } : {}),
          // As on a server, GET is read-only for every caller.
          readOnly: caller === "reader" || asked.readOnly || request.method === "GET",
        },
        gone.signal,
      );
      const bytes = asked.gzip ? await compress(result.bytes) : result.bytes;
      const summary = {
        read_rows: String(result.rowsRead),
        read_bytes: String(result.bytesRead),
        elapsed_ns: String(Math.round(result.elapsed * 1e9)),
      };
      response.writeHead(200, {
        "Content-Type": contentType(result.format),
        "Content-Length": bytes.length,
        "X-ClickHouse-Query-Id": queryId,
        "X-ClickHouse-Format": result.format,
        "X-ClickHouse-Timezone": "UTC",
        "X-ClickHouse-Summary": JSON.stringify(summary),
        ...(asked.gzip ? { "Content-Encoding": "gzip" } : {}),
      });
      response.end(bytes);
    } finally {
      body.release();
    }
  }

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = urlOf(request.url);
    const queryId = headerText(url?.searchParams.get("query_id")) ?? randomUUID();
    serve(request, response, url, queryId)
      .catch((cause: unknown) => {
        if (response.destroyed || response.headersSent) return;
        const error = toDatabaseError(cause);
        response.writeHead(httpStatus(error.code), {
          "Content-Type": "text/plain; charset=UTF-8",
          "X-ClickHouse-Exception-Code": String(error.code),
          "X-ClickHouse-Query-Id": queryId,
          // The rest of a refused body is not read.
          ...(request.complete ? {} : { Connection: "close" }),
        });
        // Who has no token learns nothing of us.
        response.end(errorText(error, error.code === 516 ? undefined : engine.version));
      })
      .catch((error: unknown) => {
        console.error("An answer of the ClickHouse facade could not be sent:", error);
        response.destroy();
      });
  };
  return createGuardedServer(answer, {
    ...{ maxConnections, requestMs: 300_000, idleMs: 10_000 },
    bodyOf: ({ message }) => ({ type: "text/plain; charset=UTF-8", text: `${message}\n` }),
    onError: (error) => console.error("The ClickHouse facade failed outside of a request:", error),
  });
}

/** null: what may stand in a request line and is no URL. */
function urlOf(path = "/"): URL | null {
  try {
    return new URL(path, "http://127.0.0.1");
  } catch {
    return null;
  }
}

/** What may stand in a header. */
const headerText = (text: string | null | undefined): string | undefined =>
  typeof text === "string" && /^[\x20-\x7e]{1,256}$/.test(text) ? text : undefined;

function contentType(format: string): string {
  if (/EachRow/.test(format) && format.startsWith("JSON")) return "application/x-ndjson; charset=UTF-8";
  if (format.startsWith("JSON")) return "application/json; charset=UTF-8";
  if (format.startsWith("CSV")) return "text/csv; charset=UTF-8";
  if (/^(TSV|TabSeparated)/.test(format)) return "text/tab-separated-values; charset=UTF-8";
  if (/^(Parquet|Native|RowBinary|Arrow|ORC|Avro|MsgPack)/.test(format)) return "application/octet-stream";
  return "text/plain; charset=UTF-8";
}
