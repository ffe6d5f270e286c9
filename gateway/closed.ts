// Tells when an answer has ended, and when a client has gone before it was answered.
import type { FastifyReply } from "fastify";
import { ApiError } from "./errors.ts";

const gone = { status: 499, code: "client_closed", message: "The client has closed the connection." };

/** Once it is sent, or its client has gone (`onResponse` is not called then). */
export function onceEnded({ raw }: FastifyReply, ended: (isComplete: boolean) => void): void {
  raw.once("close", () => ended(raw.writableFinished));
}

export function closed(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort(new ApiError(gone)));
  return controller.signal;
}
