// Chooses the index: FAISS where its library was built, else the exact one, and says so.
import type { Logger } from "pino";
import { createExactIndex } from "./exact.ts";
import { createFaissIndexes } from "./faiss.ts";
import type { VectorIndex, VectorIndexes } from "./port.ts";

export async function createVectorIndexes(dimension: number, log: Logger): Promise<VectorIndexes> {
  try {
    return await createFaissIndexes(dimension);
  } catch (error) {
    log.warn(
      { reason: (error instanceof Error ? error.message : String(error)).split("\n")[0] },
      'FAISS can\'t be used: searching with the exact index instead, which is right but slow beyond some thousand examples. "npm run setup" builds FAISS or says what it needs',
    );
    return { kind: "exact", open: () => createExactIndex(dimension), close: async () => undefined };
  }
}

/** One index that is its own owner. */
export async function createVectorIndex(dimension: number, log: Logger): Promise<VectorIndex> {
  const indexes = await createVectorIndexes(dimension, log);
  const index = indexes.open();
  return {
    ...index,
    async close() {
      await index.close();
      await indexes.close();
    },
  };
}
