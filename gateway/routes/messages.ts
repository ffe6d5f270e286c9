// POST /v1/messages and /v1/messages/count_tokens: Anthropic's API.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { promptTokens } from "../../algorithms/text/prompt-tokens.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { messagesPath } from "../addresses.ts";
import { finishedMessage } from "../api/anthropic/answer.ts";
import { createMessageEvents } from "../api/anthropic/events.ts";
import { messagesRequest } from "../api/anthropic/request.ts";
import { servedBy } from "../api/models.ts";
import { badRequest } from "../errors.ts";
import { takeText } from "../json.ts";
import { answerTo, headerOf, type AnswerDependencies, type Format } from "./answer.ts";

const format: Format = { answer: finishedMessage, chunks: createMessageEvents };

export function addMessages(server: FastifyInstance, dependencies: AnswerDependencies): void {
  const read = (incoming: FastifyRequest) =>
    messagesRequest(incoming.body, servedBy(dependencies.arms()), {
      ...{ text: takeText(incoming.body), betas: headerOf(incoming, "anthropic-beta") },
    });
  server.post(messagesPath, async (incoming, reply) => {
    const asked = read(incoming);
    if (asked.request.params.maxTokens === null) throw badRequest("max_tokens is needed.", "max_tokens");
    return answerTo(incoming, reply, asked, format, dependencies);
  });
  // An estimate: which arm would answer, and so whose tokenizer counts, is not decided.
  server.post(`${messagesPath}/count_tokens`, (incoming, reply) => {
    const { messages, passthrough } = read(incoming).request;
    const turns = messages.map(({ content }) => ({ kind: "message", text: content }));
    return reply.send({ input_tokens: promptTokens(turns, passthrough, estimateTokens) });
  });
}
