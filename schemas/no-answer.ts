// The members of a response that no model was called for: no answer, nothing spent.
import { NO_USAGE } from "./no-usage.ts";
import type { Response } from "./types.ts";

/** What a line of a batch gets at once where its answer comes later, to the log alone. */
export const deferral = {
  code: "deferred",
  message: "The answer comes within the time of the batch: it is recorded when it does.",
};

type Own = "requestId" | "tenant" | "domain" | "status" | "error" | "createdAt";

/** A new object each time, whose members a caller replaces. */
export const noAnswer = (): Omit<Response, Own> => ({
  attempt: 0,
  text: "",
  finishReason: null,
  stopSequence: null,
  arm: null,
  model: null,
  failedArms: [],
  source: "none",
  exampleIds: [],
  exampleTokens: 0,
  usage: { ...NO_USAGE },
  duplicate: false,
  ...{ cost: 0, failedCost: 0, billed: 0, savedCost: 0 },
  timings: { plan: 0, queue: 0, firstToken: null, total: 0 },
  account: null,
  passthrough: null,
  linkPolicy: null,
  degraded: [],
  asked: false,
  alternative: null,
});
