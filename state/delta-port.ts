// Where the pieces of an answer go while it is written, for readers of streams.
import type { BlockPiece, CallPiece, ThoughtPiece } from "../schemas/types.ts";

/** The request that is being answered, and the partition where its reader looks for pieces. */
export interface DeltaTarget {
  requestId: string;
  tenant: string;
  partition: number;
}
/** Takes the pieces of one answer as the arm gives them. Best effort; never throws. */
export interface DeltaSink {
  text(
    text: string,
    attempt: number,
    calls?: readonly CallPiece[],
    blocks?: readonly BlockPiece[],
    thoughts?: ThoughtPiece,
  ): void;
  /** The call is over: its response says all. */
  end(): void;
}
