// Chooses the index: the one that is asked for where its addon was built, else the exact one, and
// says so.
import type { Logger } from "pino";
import { messageOf } from "../../connections/errors.ts";
import { createExactIndexes } from "./exact.ts";
import { createFaissIndexes } from "./faiss.ts";
import { createFlatIndexes } from "./flat.ts";
import type { VectorIndexes } from "./port.ts";
import type { IndexOptions } from "./tuning.ts";

export interface WantedIndex extends Partial<IndexOptions> {
  /**
   * clustered: our addon in a process of its own, up to a million and more; flat: faiss-node in
   * this thread. Default "clustered".
   */
  kind?: "clustered" | "flat";
}

export async function createVectorIndexes(
  dimension: number,
  log: Logger,
  { kind = "clustered", ...options }: WantedIndex = {},
): Promise<VectorIndexes> {
  try {
    return kind === "flat" ? createFlatIndexes(dimension) : await createFaissIndexes(dimension, { ...options, log });
  } catch (error) {
    log.warn(
      { reason: messageOf(error).split("\n")[0] },
      'FAISS can\'t be used: searching with the exact index instead, which is right but slow beyond some thousand examples. "npm run setup" builds FAISS or says what it needs',
    );
    return createExactIndexes(dimension);
  }
}
