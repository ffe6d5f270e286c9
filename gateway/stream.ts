// One stream to one reader. It begins with the first piece, or the first heartbeat, and ends with
// the response. A reader that is slow holds up nothing: while its socket is full nothing is
// written, what has come meanwhile (an answer's length at most) goes as one chunk, and when it
// takes nothing for slowReaderMs it is disconnected.
import type { FastifyReply } from "fastify";
import type { Delta, Response } from "../schemas/types.ts";
import { restText, type Chunks } from "./api/chunks.ts";
import { isContentNull, responseHeaders } from "./api/response.ts";
import { ApiError } from "./errors.ts";
import { slices } from "./slow-reader.ts";
import { createStreamParts, type Parts } from "./stream-parts.ts";
import type { Unsent } from "./unsent.ts";

export interface StreamOptions {
  chunks: Chunks;
  heartbeatMs: number;
  slowReaderMs: number;
  /** Absent: what all streams hold together has no bound. */
  unsent?: Unsent;
}

/** Written at a time, so that a slow reader's progress shows. */
const pieceBytes = 16_384;

export function openStream(reply: FastifyReply, { heartbeatMs, slowReaderMs, chunks, unsent: all }: StreamOptions) {
  const { raw } = reply;
  const parts = createStreamParts(chunks.blocks !== undefined);
  let begun = false;
  let blocked = false;
  let ended = false;
  let unsent = Buffer.alloc(0);
  let slow: NodeJS.Timeout | undefined;
  /** Characters that came while the socket was full. */
  let behind = 0;
  /** What a socket takes that is not full counts for nothing: no event tells when it has gone. */
  const hold = (): void => all?.holds(raw, blocked || ended ? unsent.length + raw.writableLength + behind : 0);

  const begin = (headers: Record<string, string> = {}, hasContent = true): void => {
    if (begun) return;
    begun = true;
    for (const [name, value] of Object.entries(headers)) void reply.header(name, value);
    void reply.header("content-type", "text/event-stream; charset=utf-8").header("cache-control", "no-cache");
    // Proxies would gather what is to be sent at once.
    void reply.header("x-accel-buffering", "no");
    reply.hijack();
    raw.writeHead(200, reply.getHeaders() as Record<string, string>);
    write(chunks.begin(hasContent));
  };
  const watch = (): void => {
    let passed = 0;
    slow ??= setInterval(() => {
      if (++passed === slices) raw.destroy();
    }, slowReaderMs / slices);
  };
  /** Sends what is left, a piece at a time, so that each one taken shows as progress. */
  const flush = (): void => {
    while (unsent.length > 0) {
      const piece = unsent.subarray(0, pieceBytes);
      unsent = unsent.subarray(pieceBytes);
      if (raw.write(piece)) continue;
      blocked = true;
      watch();
      return;
    }
    if (!ended) return;
    raw.end();
    watch();
  };
  const write = (data: string): void => {
    if (raw.destroyed || raw.writableEnded) return;
    const bytes = Buffer.from(data);
    unsent = unsent.length === 0 ? bytes : Buffer.concat([unsent, bytes]);
    if (!blocked) flush();
    hold();
  };
  const piecesOf = ({ thoughts, text, blocks }: Omit<Parts, "calls">): string =>
    (thoughts === null ? "" : (chunks.thoughts?.(thoughts) ?? "")) +
    (text === "" ? "" : chunks.text(text)) +
    (blocks.length === 0 ? "" : (chunks.blocks?.(blocks) ?? ""));
  const pump = (): void => {
    if (blocked) return;
    behind = 0;
    const next = parts.next();
    const hasThoughts = next.thoughts !== null && chunks.thoughts !== undefined;
    if (next.text === "" && next.calls.length + next.blocks.length === 0 && !hasThoughts) return;
    begin({}, next.text !== "" || hasThoughts);
    write(piecesOf(next) + (next.calls.length === 0 ? "" : chunks.calls(next.calls)));
  };
  const drained = (): void => {
    blocked = false;
    clearInterval(slow);
    slow = undefined;
    flush();
    if (!ended) pump();
    hold();
  };
  const heartbeat = setInterval(() => {
    begin();
    if (!blocked) write(chunks.heartbeat);
  }, heartbeatMs);
  raw.on("drain", drained);
  raw.once("close", () => clearInterval(slow));

  /** The reader has gone, or an error was answered in another way. */
  const close = (): void => clearInterval(heartbeat);
  const end = (data: string): void => {
    close();
    ended = true;
    write(data);
  };

  return {
    /** Whether the reader has been told 200; before that an error may have its own status. */
    hasBegun: (): boolean => begun,
    delta(delta: Delta): void {
      parts.take(delta);
      if (blocked) {
        for (const { arguments: piece } of delta.calls) behind += piece.length;
        for (const { head, text } of delta.blocks) behind += (head?.length ?? 0) + text.length;
        behind += delta.text.length + (delta.thoughts?.text.length ?? 0);
        hold();
      } else pump();
    },
    finish(response: Response): void {
      const rest = parts.rest(response);
      begin(responseHeaders(response), !isContentNull(response));
      behind = 0;
      if (rest === null) end(chunks.error(changed));
      else end(piecesOf({ ...rest, text: restText(response, rest.text, chunks) }) + chunks.end(response, rest.calls));
    },
    fail: (error: ApiError): void => end(chunks.error(error)),
    close,
  };
}

const changed = new ApiError({
  ...{ status: 502, code: "stream_changed" },
  message: "The model was asked again and answered otherwise than it had begun: ask again.",
});
