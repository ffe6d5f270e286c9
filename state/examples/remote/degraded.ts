// The whole collection could not be searched: only what is in memory was.
import { VectorError } from "../../vectors/port.ts";
import type { Candidate } from "../port.ts";

export class SimilarityDegraded extends VectorError {
  constructor(
    reason: string,
    /** The nearest in memory, nearest first. */
    readonly popular: Candidate[],
  ) {
    super("index_unavailable", reason);
    this.name = "SimilarityDegraded";
  }
}
