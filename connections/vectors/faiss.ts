// FAISS behind the port; its addon is being rewritten.
import { VectorError, type VectorIndexes } from "./port.ts";

export async function createFaissIndexes(_dimension: number): Promise<VectorIndexes> {
  throw new VectorError("index_unavailable", "the addon is not built");
}
