// The trainer of the helpfulness model, for who trains it: learn and `precedent helpfulness train`.
import type { TrainHelpfulnessDependencies } from "./train-helpfulness.ts";

/** Loaded when it is needed: a job's tools are none of a running stage's. */
export const trainHelpfulness: TrainHelpfulnessDependencies["train"] = async (rows, options) => {
  const training = await import("../../connections/training/helpfulness.ts");
  return training.trainHelpfulness(rows, options);
};
