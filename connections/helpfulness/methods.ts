// What the helpfulness model's worker can do.
export interface HelpfulnessMethods {
  /** Row-major rows x width; one unclipped number a row. Throws with the code bad_model. */
  score(rows: { features: Float32Array; width: number }): Float32Array;
}

export interface HelpfulnessWorkerInput {
  /** ONNX: one input `features`, float32 [rows, width], one output of rows float32. */
  model: Uint8Array;
}

export const inputName = "features";

/** Has the code that rpc.ts carries to the caller. */
export class BadModel extends Error {
  readonly code = "bad_model";
}
