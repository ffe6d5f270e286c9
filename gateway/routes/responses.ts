// POST /v1/responses: OpenAI's Responses API.
import type { FastifyInstance } from "fastify";
import { servedBy } from "../api/models.ts";
import { finishedResponse } from "../api/responses/answer.ts";
import { createResponseEvents } from "../api/responses/events.ts";
import { responsesRequest } from "../api/responses/request.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { badRequest } from "../errors.ts";
import { takeText } from "../json.ts";
import { createLookUps } from "../lookups.ts";
import { createPrevious } from "../previous-response.ts";
import { answerTo, type AnswerDependencies, type Format } from "./answer.ts";

export interface ResponsesDependencies extends AnswerDependencies {
  clickhouse: Pick<ClickHouse, "query">;
}

export function addResponses(server: FastifyInstance, { clickhouse, ...dependencies }: ResponsesDependencies): void {
  const previousTo = createPrevious({ clickhouse, lookUp: createLookUps() });
  server.post("/v1/responses", async (incoming, reply) => {
    const text = takeText(incoming.body);
    const id = isObject(incoming.body) ? (incoming.body["previous_response_id"] ?? null) : null;
    if (id !== null && typeof id !== "string")
      throw badRequest("previous_response_id must be a text.", "previous_response_id");
    const previous = id === null ? [] : await previousTo(id, dependencies.callerOf(incoming));
    const body = responsesRequest(incoming.body, servedBy(dependencies.arms()), { text, previous });
    const { echo, namespaces } = body;
    const format: Format = {
      answer: (response, of) => finishedResponse(response, { ...of, echo, namespaces }),
      chunks: (of) => createResponseEvents({ ...of, echo, namespaces }),
    };
    return answerTo(incoming, reply, body, format, dependencies);
  });
}
