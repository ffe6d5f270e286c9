// Vectors of many texts, some of which the model may give none for.
import { EmbedderError, type Embedder } from "../../connections/embedder/port.ts";

/** In the order of the texts; null: the model gives no vector for this text. */
export async function vectorsOf(
  embedder: Pick<Embedder, "embedAll">,
  texts: readonly string[],
): Promise<(Float32Array | null)[]> {
  const unusable = (error: unknown): null => {
    if (error instanceof EmbedderError && error.code === "not_finite") return null;
    throw error;
  };
  if (texts.length === 0) return [];
  const all: (Float32Array | null)[] | null = await embedder.embedAll(texts).catch(unusable);
  return all ?? Promise.all(texts.map((text) => embedder.embedAll([text]).then(([one]) => one ?? null, unusable)));
}
