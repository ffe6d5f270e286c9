// POST /v1/requests/{id}/cancel: the request needs no answer any more. 202 when the brokers have
// it, whether there is such a request or not: one of another tenant is none.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../caller.ts";
import type { CancelPublisher } from "../cancel.ts";
import { badRequest } from "../errors.ts";
import { requestIdOf } from "../api/response.ts";
import type { ConnectionLimit } from "../connection-limit.ts";

export interface CancelRouteDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  cancel: Pick<CancelPublisher, "ask">;
  connectionLimit: ConnectionLimit;
}

const longestId = 512;

export function addCancel(
  server: FastifyInstance,
  { callerOf, cancel, connectionLimit }: CancelRouteDependencies,
): void {
  server.post<{ Params: { id: string } }>("/v1/requests/:id/cancel", async (incoming, reply) => {
    const { tenant } = callerOf(incoming);
    const requestId = requestIdOf(incoming.params.id);
    if (requestId.length > longestId) throw badRequest(`An id has at most ${longestId} characters.`, "id");
    const giveBack = connectionLimit.take(tenant);
    try {
      await cancel.ask({ requestId, tenant });
    } finally {
      giveBack();
    }
    return reply.code(202).send({ id: requestId, object: "cancel" });
  });
}
