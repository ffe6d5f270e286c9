// GET /v1/requests/{id}: why a request was answered as it was, from ClickHouse, for its own tenant.
// GET /v1/admin/tenants/{tenant}/requests/{id}: the same of any tenant, for operators. The
// statements are fixed; id and tenant are parameters.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Conversation } from "../conversation.ts";
import { findConversation } from "../find-conversation.ts";
import type { Caller } from "../caller.ts";
import { adminPrefix } from "../addresses.ts";
import { ApiError } from "../errors.ts";
import { requestIdOf } from "../api/response.ts";
import { createLookUps } from "../lookups.ts";

export interface RequestsDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  clickhouse: Pick<ClickHouse, "query">;
}

export const unknownRequest = (): ApiError =>
  new ApiError({
    ...{ status: 404, code: "unknown_request" },
    message: "No such request is recorded; it is a second or so after its answer.",
  });

export function addRequests(server: FastifyInstance, { callerOf, clickhouse }: RequestsDependencies): void {
  const lookUp = createLookUps();
  const found = async (id: string, tenant: string, seesShared: boolean): Promise<Conversation> => {
    const conversation = await lookUp(() => findConversation(clickhouse, requestIdOf(id), tenant, { seesShared }));
    if (conversation === null) throw unknownRequest();
    return conversation;
  };
  server.get<{ Params: { id: string } }>("/v1/requests/:id", async (incoming, reply) =>
    reply.send(await found(incoming.params.id, callerOf(incoming).tenant, false)),
  );
  server.get<{ Params: { tenant: string; id: string } }>(
    `${adminPrefix}tenants/:tenant/requests/:id`,
    async ({ params }, reply) => reply.send(await found(params.id, params.tenant, true)),
  );
}
