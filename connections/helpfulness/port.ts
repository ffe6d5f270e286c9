// The model of helpfulness: how much an example will better an arm's answer
// (docs/design/selection.md, Stage 2; IC-Cache, section 4.1). Implementation: onnx.ts, in a worker.

export interface HelpfulnessModel {
  /** Version of the policy `helpfulness`. */
  readonly version: number;
  /** features: n x HELPFULNESS_FEATURES. n values in [0, 1], 0.5 neutral. HelpfulnessError. */
  score(features: Float32Array): Promise<Float32Array>;
  close(): Promise<void>;
}

export class HelpfulnessError extends Error {
  constructor(
    /** bad_model: can't be loaded, wrong inputs, not finite; unavailable: its worker is gone. */
    readonly code: "bad_model" | "unavailable",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "HelpfulnessError";
  }
}
