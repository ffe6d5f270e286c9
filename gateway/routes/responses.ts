// POST /v1/responses: OpenAI's Responses API.
import type { FastifyInstance } from "fastify";
import { servedBy } from "../api/models.ts";
import { finishedResponse } from "../api/responses/answer.ts";
import { createResponseEvents } from "../api/responses/events.ts";
import { responsesRequest } from "../api/responses/request.ts";
import { takeText } from "../json.ts";
import { answerTo, type AnswerDependencies, type Format } from "./answer.ts";

export function addResponses(server: FastifyInstance, dependencies: AnswerDependencies): void {
  server.post("/v1/responses", async (incoming, reply) => {
    const body = responsesRequest(incoming.body, servedBy(dependencies.arms()), takeText(incoming.body));
    const { echo } = body;
    const format: Format = {
      answer: (response, of) => finishedResponse(response, { ...of, echo }),
      chunks: (of) => createResponseEvents({ ...of, echo }),
    };
    return answerTo(incoming, reply, body, format, dependencies);
  });
}
