// Indexes in FAISS where our addon was built, else the exact ones, with a warning.
import type { Logger } from "pino";
import { messageOf } from "../../connections/errors.ts";
import { createExactIndexes } from "./exact.ts";
import { createFaissIndexes } from "./faiss.ts";
import { isFaissBuilt } from "./native.ts";
import { VectorError, type VectorIndexes } from "./port.ts";

export async function createVectorIndexes(dimension: number, log: Logger): Promise<VectorIndexes> {
  try {
    // Asked first: a worker that can't load it ends with a stack trace.
    if (!isFaissBuilt()) throw new VectorError("index_unavailable", "its addon is not built");
    return await createFaissIndexes(dimension, { log });
  } catch (error) {
    log.warn(
      { reason: messageOf(error).split("\n")[0] },
      'FAISS can\'t be used: searching with the exact index instead, which is right but slow beyond some thousand examples. "npm run setup" builds FAISS or says what it needs',
    );
    return createExactIndexes(dimension);
  }
}
