// Pools of examples for benchmarks that run the real stages: made of pairs and their vectors, and
// put on the topic.
import { exampleId } from "../../algorithms/identity/identity.ts";
import type { Session } from "../../pipelines/session.ts";
import type { Example } from "../../schemas/types.ts";

export interface Pool {
  tenant: string;
  /** tenant/domain. */
  domain: string;
  embeddingModel: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

/** As imported. embedding: little-endian floats. */
export const importedExample = (
  { request, response }: Pick<Example, "request" | "response">,
  embedding: Buffer,
  { tenant, domain, embeddingModel, createdAt }: Pool,
): Example => ({
  id: exampleId(domain, request, response),
  ...{ tenant, domain, request, response, embedding, embeddingModel },
  source: { arm: "import", model: "unknown", requestId: null },
  quality: 1,
  bytes: Buffer.byteLength(request) + Buffer.byteLength(response) + embedding.length,
  expiresAt: null,
  replays: 0,
  createdAt,
});

const batch = 500;

export async function produceExamples(
  { kafka, codec, topic }: Pick<Session, "kafka" | "codec" | "topic">,
  examples: readonly Example[],
): Promise<void> {
  const producer = kafka.plainProducer();
  for (let i = 0; i < examples.length; i += batch)
    await producer.send(
      examples.slice(i, i + batch).map((example) => ({
        topic: topic("examples"),
        key: `${example.domain}/${example.id}`,
        value: codec.encode("examples", example),
      })),
    );
  await producer.close();
}
