// A request as most are: one user turn, of the default tenant, with nothing asked for specially.
import type { Request } from "./types.ts";

/** Members of `more` win; id and createdAt are null unless given. */
export function plainRequest<R extends Partial<Request>>(question: string, more: R): Request & R {
  const request: Request = {
    id: null,
    tenant: "default",
    domain: null,
    messages: [{ role: "user", content: question }],
    documents: [],
    params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] },
    allow: { arms: null, maxCost: null, deadlineMs: null, costWeight: null },
    privacy: { cache: true, share: true, fresh: false },
    mayAsk: false,
    mayCompare: false,
    replyPartition: null,
    deltas: false,
    promptCacheKey: null,
    cacheSalt: null,
    passthrough: null,
    requires: [],
    account: null,
    batchUntil: null,
    metadata: {},
    createdAt: null,
  };
  return { ...request, ...more };
}
