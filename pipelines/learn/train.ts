// The trainer of the helpfulness model, for who trains it: learn and `precedent proxy train`.
import type { TrainProxyDependencies } from "./train-helpfulness.ts";

/** Loaded when it is needed: a job's tools are none of a running stage's. */
export const trainHelpfulness: TrainProxyDependencies["train"] = async (rows, options) => {
  const { trainProxy } = await import("../../connections/training/helpfulness.ts");
  return trainProxy(rows, options);
};
