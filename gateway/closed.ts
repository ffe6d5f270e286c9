// Tells when a client has gone before it was answered.
import type { FastifyReply } from "fastify";
import { ApiError } from "./errors.ts";

const gone = { status: 499, code: "client_closed", message: "The client has closed the connection." };

export function closed(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort(new ApiError(gone)));
  return controller.signal;
}
