// POST /v1/chat/completions.
import type { FastifyInstance } from "fastify";
import { createChunks } from "../api/chunks.ts";
import { servedBy } from "../api/models.ts";
import { chatRequest } from "../api/request.ts";
import { chatCompletion } from "../api/response.ts";
import { takeText } from "../json.ts";
import { answerTo, type AnswerDependencies, type Format } from "./answer.ts";

export function addChat(server: FastifyInstance, dependencies: AnswerDependencies): void {
  server.post("/v1/chat/completions", async (incoming, reply) => {
    const body = chatRequest(incoming.body, servedBy(dependencies.arms()), takeText(incoming.body));
    const { includeUsage } = body;
    const format: Format = { answer: chatCompletion, chunks: (of) => createChunks({ ...of, includeUsage }) };
    return answerTo(incoming, reply, body, format, dependencies);
  });
}
