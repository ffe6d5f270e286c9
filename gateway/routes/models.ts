// GET /v1/models and /v1/models/{id}: the arms, and "auto".
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../access.ts";
import { ApiError } from "../errors.ts";
import { modelList, type Aliases, type NamedArm } from "../api/models.ts";

export interface ModelsDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  arms: () => readonly NamedArm[];
  aliases?: Aliases["aliases"];
  /** Seconds since the epoch. */
  started: number;
}

export function addModels(server: FastifyInstance, { callerOf, arms, aliases, started }: ModelsDependencies): void {
  const listFor = (incoming: FastifyRequest) => {
    const caller = callerOf(incoming);
    const allowed = arms().filter(({ name }) => caller.arms?.includes(name) ?? true);
    return modelList(allowed, started, { aliases, caller });
  };
  server.get("/v1/models", (incoming, reply) => reply.send(listFor(incoming)));
  server.get<{ Params: { id: string } }>("/v1/models/:id", (incoming, reply) => {
    const found = listFor(incoming).data.find(({ id }) => id === incoming.params.id);
    if (found === undefined)
      throw new ApiError({ status: 404, code: "model_not_found", message: "There is no such model: GET /v1/models." });
    return reply.send(found);
  });
}
