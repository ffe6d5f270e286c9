// A response as the gateway reads it, for its unit tests.
import type { Response } from "../schemas/types.ts";
import { NO_USAGE } from "../schemas/no-usage.ts";

export const aResponse = (change: Partial<Response> = {}): Response => ({
  requestId: "r1",
  tenant: "default",
  attempt: 1,
  status: "ok",
  text: "ls -a",
  finishReason: "stop",
  arm: "small",
  model: "small-1",
  failedArms: [],
  source: "generated",
  exampleIds: [], domain: "default/default", exampleTokens: 0,
  usage: { ...NO_USAGE, prompt: 30, cached: 10, prefilled: 20, completion: 5 },
  duplicate: false,
  cost: 0.25,
  failedCost: 0,
  billed: 0,
  savedCost: 0,
  account: null,
  timings: { plan: 1, queue: 2, firstToken: null, total: 9 },
  error: null,
  passthrough: null,
  linkPolicy: null,
  degraded: [],
  asked: false,
  alternative: null,
  createdAt: 1_700_000_000_123,
  ...change,
});
