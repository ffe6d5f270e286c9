// GET /v1/requests/{id}: why a request was answered as it was, from ClickHouse, for its own tenant.
// GET /v1/admin/tenants/{tenant}/requests/{id}: the same of any tenant, for operators. The
// statements are fixed; id and tenant are parameters.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ClickHouseUnavailable, type ClickHouse } from "../../connections/clickhouse/port.ts";
import { findConversation, type Conversation } from "../../serving/conversation.ts";
import { adminPrefix, type Caller } from "../access.ts";
import { ApiError } from "../errors.ts";
import { requestIdOf } from "../api/response.ts";

export interface RequestsDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  clickhouse: Pick<ClickHouse, "query">;
}

/** Questions to ClickHouse at a time. */
const mostAtATime = 8;

export function addRequests(server: FastifyInstance, { callerOf, clickhouse }: RequestsDependencies): void {
  let asking = 0;
  const find = async (id: string, tenant: string): Promise<Conversation | null> => {
    if (asking >= mostAtATime)
      throw new ApiError({
        status: 429,
        code: "too_many_open",
        retryAfter: 1,
        message: "Too many look-ups: try again.",
      });
    asking++;
    try {
      return await findConversation(clickhouse, id, tenant);
    } catch (cause) {
      if (!(cause instanceof ClickHouseUnavailable)) throw cause;
      const message = "ClickHouse does not answer now: try again.";
      throw new ApiError({ status: 503, code: "clickhouse_unavailable", retryAfter: 2, message });
    } finally {
      asking--;
    }
  };
  const found = async (id: string, tenant: string): Promise<Conversation> => {
    const conversation = await find(requestIdOf(id), tenant);
    if (conversation !== null) return conversation;
    throw new ApiError({
      ...{ status: 404, code: "unknown_request" },
      message: "No such request is recorded; it is a second or so after its answer.",
    });
  };
  server.get<{ Params: { id: string } }>("/v1/requests/:id", async (incoming, reply) =>
    reply.send(await found(incoming.params.id, callerOf(incoming).tenant)),
  );
  server.get<{ Params: { tenant: string; id: string } }>(
    `${adminPrefix}tenants/:tenant/requests/:id`,
    async ({ params }, reply) => reply.send(await found(params.id, params.tenant)),
  );
}
