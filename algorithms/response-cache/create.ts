// The response cache policies, each with a bound on its memory.
import { knapsack } from "../selection/knapsack.ts";
import { createAdaptive } from "./adaptive.ts";
import { createGdsf, createLec1, createLecm, createLfu, createLru } from "./baselines.ts";
import { createBounded } from "./bounded.ts";
import type { CreatePolicy, ResizableCachePolicy } from "./policy.ts";
import { createVsocb } from "./vsocb.ts";

export type PolicyName = "adaptive" | "vsocb" | "lecm" | "lec1" | "gdsf" | "lfu" | "lru";

/**
 * The lazy variant, the best of its family where traffic is stationary; at scale 0 its horizon
 * plays no part.
 */
const vsocb: CreatePolicy = (capacity) =>
  createVsocb(capacity, { rounds: 1e6, queries: 1e4, solve: knapsack, alpha: 0.1, scale: 0, lazy: true });

const others: Readonly<Record<Exclude<PolicyName, "adaptive">, CreatePolicy>> = {
  ...{ vsocb, lecm: createLecm(), lec1: createLec1(), gdsf: createGdsf, lfu: createLfu, lru: createLru },
};

/** capacity: bytes. Ids that are not held are remembered, at most two for each that is. */
export const createPolicy = (name: PolicyName, capacity: number): ResizableCachePolicy =>
  name === "adaptive" ? createAdaptive(capacity, { outsidePerEntry: 2 }) : createBounded(others[name], capacity);
