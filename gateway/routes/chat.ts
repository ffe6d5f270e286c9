// POST /v1/chat/completions and /v1/completions.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createChunks } from "../api/chunks.ts";
import { completionRequest, createTextChunks, textCompletion } from "../api/completions.ts";
import { servedBy } from "../api/models.ts";
import { chatRequest, type ChatBody, type Served } from "../api/request.ts";
import { chatCompletion } from "../api/response.ts";
import type { Response } from "../../schemas/types.ts";
import { takeText } from "../json.ts";
import { askSeveral, type Several } from "../several.ts";
import { answerTo, type AnswerDependencies, type Format } from "./answer.ts";

/** others: answers after the first, once that has ended. */
type Formats = (body: ChatBody, others: () => readonly Response[]) => Format;

const chat: Formats = ({ includeUsage }, others) => ({
  answer: (response, of) => chatCompletion(response, of, others()),
  chunks: (of) => createChunks({ ...of, includeUsage, others }),
});
const text: Formats = ({ includeUsage }, others) => ({
  answer: (response, of) => textCompletion(response, of, others()),
  chunks: (of) => createTextChunks({ ...of, includeUsage, others }),
});

export function addChat(server: FastifyInstance, dependencies: AnswerDependencies): void {
  const served = (): Served => servedBy(dependencies.arms());
  const answer = (incoming: FastifyRequest, reply: FastifyReply, body: ChatBody, formats: Formats) => {
    let several: Several | undefined;
    const format = formats(body, () => several?.others() ?? []);
    if (body.n === 1) return answerTo(incoming, reply, body, format, dependencies);
    return answerTo(incoming, reply, body, format, {
      ...dependencies,
      several: (ask, anew) => (several = askSeveral(ask, body.n, anew)).ask,
    });
  };
  server.post("/v1/chat/completions", async (incoming, reply) =>
    answer(incoming, reply, chatRequest(incoming.body, served(), takeText(incoming.body)), chat),
  );
  server.post("/v1/completions", async (incoming, reply) =>
    answer(incoming, reply, completionRequest(incoming.body, served(), takeText(incoming.body)), text),
  );
}
