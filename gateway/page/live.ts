// GET /page/api/live: requests as they happen, as server-sent events. A slow reader misses batches,
// and its next batch counts the missed events; it delays no stage.
import type { FastifyInstance } from "fastify";
import { TooManyWatchers } from "./data/live.ts";
import type { LiveBatch } from "./data/types/requests.ts";
import { closed } from "../closed.ts";
import { ApiError } from "../errors.ts";
import { setHeaders } from "./headers.ts";
import type { PageDependencies } from "./routes.ts";

const heartbeatMs = 15_000;

export function addLive(
  server: FastifyInstance,
  { mayLook, dashboard }: Pick<PageDependencies, "mayLook" | "dashboard">,
): void {
  server.get("/page/api/live", async (incoming, reply) => {
    mayLook(incoming);
    const gone = closed(reply);
    const { raw } = reply;
    const watching = new AbortController();
    const signal = AbortSignal.any([gone, watching.signal]);
    const taken = { full: false, missed: 0 };
    const begin = (): void => {
      if (raw.headersSent) return;
      setHeaders(reply);
      void reply.header("content-type", "text/event-stream; charset=utf-8").header("x-accel-buffering", "no");
      reply.hijack();
      raw.writeHead(200, reply.getHeaders() as Record<string, string>);
    };
    const write = (data: string): void => {
      begin();
      taken.full = !raw.write(data);
    };
    const take = ({ events, skipped }: LiveBatch): void => {
      // API keys may have been made or revoked since the reader connected.
      try {
        mayLook(incoming);
      } catch {
        watching.abort();
        return;
      }
      if (taken.full) taken.missed += events.length + skipped;
      else {
        const batch: LiveBatch = { events, skipped: skipped + taken.missed };
        taken.missed = 0;
        write(`data: ${JSON.stringify(batch)}\n\n`);
      }
    };
    raw.on("drain", () => (taken.full = false));
    const heartbeat = setInterval(() => {
      if (!taken.full) write(": \n\n");
    }, heartbeatMs);
    // Tells the page at once that it is watching.
    const ready = setImmediate(() => write(": \n\n"));
    try {
      await dashboard.live.watch(take, signal);
    } catch (error) {
      if (!raw.headersSent && error instanceof TooManyWatchers)
        throw new ApiError({ status: 429, code: "too_many_open", message: error.message, retryAfter: 10 });
      throw error;
    } finally {
      clearImmediate(ready);
      clearInterval(heartbeat);
      if (raw.headersSent) raw.end();
    }
    return reply;
  });
}
