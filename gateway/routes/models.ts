// GET /v1/models and /v1/models/{id}: the arms, and "auto".
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../caller.ts";
import { armsAllowed, modelList, modelOf, resolveModel, type Aliases, type NamedArm } from "../api/models.ts";

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
    return modelList(arms(), started, { aliases, caller });
  };
  server.get("/v1/models", { exposeHeadRoute: true }, (incoming, reply) => reply.send(listFor(incoming)));
  server.get<{ Params: { id: string } }>("/v1/models/:id", { exposeHeadRoute: true }, (incoming, reply) => {
    const { id } = incoming.params;
    const caller = callerOf(incoming);
    armsAllowed(resolveModel(id, arms(), { aliases, caller }).arms, caller.arms);
    return reply.send(modelOf(id, started));
  });
}
