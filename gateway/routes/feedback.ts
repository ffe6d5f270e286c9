// POST /v1/feedback: acknowledged when the brokers have it.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Codec } from "../../connections/registry/port.ts";
import type { Topic } from "../../schemas/records.ts";
import type { Caller } from "../access.ts";
import { requestIdFor } from "../idempotency.ts";
import { feedbackOf } from "../api/feedback.ts";
import type { Places } from "../places.ts";
import type { Send } from "../send.ts";
import { headerOf } from "./answer.ts";

export interface FeedbackDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  send: Send<Topic<"feedback">>;
  codec: Pick<Codec, "encode">;
  topic: Topic<"feedback">;
  places: Places;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function addFeedback(server: FastifyInstance, dependencies: FeedbackDependencies): void {
  const { callerOf, send, codec, topic, places, clock } = dependencies;
  server.post("/v1/feedback", async (incoming, reply) => {
    const { tenant } = callerOf(incoming);
    const id = requestIdFor(tenant, headerOf(incoming, "idempotency-key"));
    const feedback = feedbackOf(incoming.body, { tenant, id, now: clock() });
    const giveBack = places.take(tenant);
    try {
      await send({ topic, key: feedback.requestId, value: codec.encode("feedback", feedback) });
    } finally {
      giveBack();
    }
    return reply.code(202).send({ id: feedback.id, object: "feedback", request_id: feedback.requestId });
  });
}
