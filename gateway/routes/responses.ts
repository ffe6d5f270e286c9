// POST /v1/responses, for text.
import type { FastifyInstance } from "fastify";
import { createResponseEvents } from "../api/response-events.ts";
import { finishedResponse, responsesRequest } from "../api/responses.ts";
import { answerTo, type AnswerDependencies, type Format } from "./answer.ts";

export function addResponses(server: FastifyInstance, dependencies: AnswerDependencies): void {
  server.post("/v1/responses", async (incoming, reply) => {
    const body = responsesRequest(incoming.body);
    const { instructions } = body;
    const format: Format = {
      answer: (response, of) => finishedResponse(response, { ...of, instructions }),
      chunks: (of) => createResponseEvents({ ...of, instructions }),
    };
    return answerTo(incoming, reply, body, format, dependencies);
  });
}
