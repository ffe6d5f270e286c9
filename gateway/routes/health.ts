// GET /healthz, for load balancers: whether this gateway can have requests answered.
import type { FastifyInstance } from "fastify";

export function addHealth(server: FastifyInstance, health: () => { joined: boolean; partitions: number }): void {
  server.get("/healthz", (_request, reply) => {
    const { joined, partitions } = health();
    return reply.code(joined ? 200 : 503).send({ status: joined ? "ok" : "unavailable", partitions });
  });
}
