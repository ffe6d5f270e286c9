// What the helpfulness model's worker can do.
export interface HelpfulnessMethods {
  /**
   * Row-major rows x width; one number a row, not clipped. Throws with the code bad_model when the
   * model is not what it must be.
   */
  score(rows: { features: Float32Array; width: number }): Float32Array;
}

export interface HelpfulnessWorkerInput {
  /**
   * An ONNX graph with one input `features`, float32 [rows, width], and one output of rows float32.
   */
  model: Uint8Array;
}

/** Name of the graph's input. */
export const inputName = "features";

/** Has the code that rpc.ts carries to the caller. */
export class BadModel extends Error {
  readonly code = "bad_model";
}
