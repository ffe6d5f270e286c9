import type { Usage } from "./types.ts";

/** Tokens of what no model was called for. */
export const NO_USAGE: Readonly<Usage> = {
  ...{ prompt: 0, linked: 0, recomputed: 0, prefilled: 0, cached: 0, cacheWrite: 0, completion: 0, reasoning: 0 },
  estimated: false,
};
