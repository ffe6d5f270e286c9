// POST /v1/embeddings: by the embedder of the configuration, in its worker. It is opened for the
// first request. What waits is bounded: texts under way in this process, and the embedder's queue.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { EmbedderError, type Embedder } from "../../connections/embedder/port.ts";
import type { Caller } from "../caller.ts";
import { embeddedTokens, embeddingList, embeddingsRequest } from "../api/embeddings.ts";
import { closed } from "../closed.ts";
import { ApiError } from "../errors.ts";
import type { ConnectionLimit } from "../connection-limit.ts";

export interface EmbeddingsDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  /** Opens it when it is asked for the first time. Rejects where it can't be. */
  embedder: () => Promise<Pick<Embedder, "model" | "dimension" | "embed">>;
  connectionLimit: ConnectionLimit;
}

/** Limit of texts of all requests; one request may always have its own. */
const mostTexts = 1_024;

export function addEmbeddings(
  server: FastifyInstance,
  { callerOf, embedder, connectionLimit }: EmbeddingsDependencies,
): void {
  let underWay = 0;
  server.post("/v1/embeddings", async (incoming, reply) => {
    const { tenant, limits } = callerOf(incoming);
    const model = await embedder().catch((cause: unknown) => {
      throw unavailable("The embedding model can't be opened: the gateway's log says why.", cause);
    });
    const body = embeddingsRequest(incoming.body, model);
    const count = body.texts.length;
    if (underWay > 0 && underWay + count > mostTexts) throw busy();
    const giveBack = connectionLimit.take(tenant);
    try {
      limits?.tokens(embeddedTokens(body));
    } catch (error) {
      giveBack();
      throw error;
    }
    underWay += count;
    const signal = closed(reply);
    try {
      const vectors = await Promise.all(body.texts.map((text) => model.embed(text, signal)));
      return await reply.send(embeddingList(vectors, body, model.model));
    } catch (cause) {
      if (!(cause instanceof EmbedderError)) throw cause;
      throw cause.code === "embedder_busy" ? busy() : unavailable("The embedder failed: try again.", cause);
    } finally {
      underWay -= count;
      giveBack();
    }
  });
}

const busy = (): ApiError =>
  new ApiError({
    ...{ status: 429, code: "embedder_busy", retryAfter: 1 },
    message: "Too many texts wait for the embedder: send fewer at a time, or try again.",
  });
const unavailable = (message: string, cause: unknown): ApiError =>
  Object.assign(new ApiError({ status: 503, code: "embedder_unavailable", retryAfter: 5, message }), { cause });
